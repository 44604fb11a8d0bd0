# Managed by Salt (components.hecate). Whether Caddy runs what a Caddyfile says: 0 it does, 1 it runs something else,
# 2 it can't be asked.
#
#   running.py CADDY CADDYFILE ADMIN-ADDRESS
import http.client
import json
import subprocess
import sys
import time

PATIENCE = 5.0  # seconds: one that was started this moment doesn't answer yet


def main(caddy: str, caddyfile: str, admin: str) -> int:
    adapt = [caddy, "adapt", "--adapter", "caddyfile", "--config", caddyfile]
    written = json.loads(subprocess.run(adapt, check=True, stdout=subprocess.PIPE).stdout)
    return 0 if running(admin) == written else 1


def running(admin: str) -> object:
    deadline = time.monotonic() + PATIENCE
    while True:
        connection = http.client.HTTPConnection(admin, timeout=PATIENCE)
        try:
            connection.request("GET", "/config/")
            return json.load(connection.getresponse())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        finally:
            connection.close()


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (subprocess.CalledProcessError, http.client.HTTPException, OSError, ValueError) as error:
        print(error)
        sys.exit(2)
