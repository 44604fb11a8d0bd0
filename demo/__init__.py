"""The main job with real parts on embedded defaults: a master, a minion, Hive's emulator and a Vault, in `.demo/`."""
