"""The other half of the provider: SFTP and scripts over SSH."""
