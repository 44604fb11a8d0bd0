"""The folder rendered for a component, the modules it is made of, and its fingerprint."""
