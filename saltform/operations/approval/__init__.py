"""Plans that need a person: who may agree, who has, and what is applied then."""
