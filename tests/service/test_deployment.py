"""What is in ``deploy/``, tried for real: nginx with TLS, a container, what systemd says."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from quaestor.curator import Curator
from tests.service.running import COUNT, PATIENCE, free_port, made_hospital, running

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BASE = Path.home() / ".cache" / "quaestor" / "bookworm-python.tar"


def _need(command: str, package: str) -> str:
    """A command of the system's; installed where that may be done."""
    if shutil.which(command) is None and os.geteuid() == 0:
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
        subprocess.run(install, check=True, capture_output=True)
    found = shutil.which(command)
    assert found, f"install {package}, e.g.: sudo apt-get install {package}"
    return found


@contextmanager
def _nginx(folder: Path, upstream: str, port: int) -> Iterator[ssl.SSLContext]:
    """The proxy as ``deploy/nginx.conf`` has it, on another port; what trusts its certificate."""
    nginx, openssl = _need("nginx", "nginx-light"), _need("openssl", "openssl")
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "fullchain.pem")]
    made += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(made, check=True, capture_output=True)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for old, new in {
        "127.0.0.1:8080": upstream,
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/ssl/quaestor": str(folder),
        "data.example.org": "localhost",
    }.items():
        assert old in text
        text = text.replace(old, new)
    places = "".join(
        f"{kind}_temp_path {folder / kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = folder / "main.conf"
    main.write_text(
        f"user root;\npid {folder / 'pid'};\nerror_log {folder / 'errors'};\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}{text}\n}}\n",
        encoding="utf-8",
    )
    checked = subprocess.run([nginx, "-t", "-c", main], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen([nginx, "-c", main, "-g", "daemon off;"])
    try:
        yield ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.slow
def test_behind_nginx_events_come_live_through_tls(tmp_path: Path) -> None:
    port = free_port()
    with (
        running(made_hospital(tmp_path), "--time-step", "600") as service,
        _nginx(tmp_path, service.url.removeprefix("http://"), port) as trust,
        httpx.Client(base_url=f"https://localhost:{port}", verify=trust, timeout=60) as client,
    ):
        for _ in range(100):
            try:
                assert client.get("/ready").status_code == 200
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        mine = {"Authorization": f"Bearer {service.tokens['ann']}"}
        body = {"sql": COUNT, "epsilon": 0.5, "account": "research"}
        job = client.post("/api/v1/questions", json=body, headers=mine).json()
        with client.stream("GET", job["links"]["events"], headers=mine) as events:
            lines = events.iter_lines()
            said = ""
            while "computing" not in said:  # 600 s from its end: whatever is held back never comes
                said = next(line for line in lines if line.startswith("data:"))
        assert json.loads(said.removeprefix("data:"))["state"] == "open"
        assert client.get("/metrics", headers=mine).status_code == 404
        big = client.post("/api/v1/preview", content=b"x" * 2_000_000, headers=mine)
        assert big.status_code == 413
        signed = client.post("/sign-in", data={"link": "no such link"})
        assert signed.status_code in {401, 403}
        assert client.get("/health").headers["strict-transport-security"]
        service.kill()


@pytest.mark.slow
def test_systemd_has_little_to_say_against_the_unit() -> None:
    analyze = _need("systemd-analyze", "systemd")
    command = [analyze, "security", "--offline=true", "--threshold=15"]
    done = subprocess.run(
        [*command, DEPLOY / "quaestor.service"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    level = re.search(r"exposure level .*: ([\d.]+)", done.stdout)
    assert level
    assert float(level[1]) <= 1.5


def _debian() -> Path:
    """A Debian with Python, as a file; it is made once."""
    if not BASE.exists():
        BASE.parent.mkdir(parents=True, exist_ok=True)
        made = [_need("mmdebstrap", "mmdebstrap"), "--variant=minbase"]
        made += ["--include=python3,python3-venv,ca-certificates", "bookworm"]
        draft = BASE.with_suffix(".new.tar")
        subprocess.run([*made, draft], check=True, capture_output=True)
        draft.rename(BASE)
    return BASE


@pytest.mark.slow
def test_the_image_is_built_from_the_clone_and_serves_as_nobody_in_particular(
    tmp_path: Path,
) -> None:
    storage = tmp_path / "images"
    buildah = [_need("buildah", "buildah"), "--storage-driver", "vfs"]
    buildah += ["--root", str(storage / "root"), "--runroot", str(storage / "run")]

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [*buildah, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    try:
        base = run("from", "scratch")
        run("add", "-q", base, _debian(), "/")
        run("commit", "-q", "--rm", base, "base")
        # how this machine reaches the package index is none of the image's business
        shared = [os.environ.get("PIP_CERT", ""), os.environ.get("PIP_CONFIG_FILE", "")]
        shared += ["/etc/pip.conf"]
        mounts = [f"--volume={each}:{each}:ro" for each in shared if each and Path(each).exists()]
        build = ["build", "--isolation", "chroot", "--format", "docker", "--pull-never", *mounts]
        arguments = ["--build-arg", "BASE=localhost/base", "-f", "deploy/Dockerfile"]
        run(*build, *arguments, "-t", "quaestor", ".")
        facts = json.loads(run("inspect", "--type", "image", "quaestor"))["Docker"]["config"]
        assert facts["User"] == "10001:10001"
        assert facts["Healthcheck"]["Test"]
        _asked_in(run("from", "--pull-never", "quaestor"), buildah, tmp_path)
    finally:
        subprocess.run([*buildah, "rm", "--all"], capture_output=True, check=False)
        shutil.rmtree(storage, ignore_errors=True)


def _asked_in(container: str, buildah: list[str], folder: Path) -> None:
    """Start the image over a hospital, and ask it."""
    home = folder / "hospital"
    home.mkdir()
    catalog = made_hospital(home)
    with Curator.from_file(catalog) as curator:
        curator.ledger.people.add("ann", roles=("analyst",), by="test")
        token = curator.ledger.people.create_token("ann", by="test")[1]
    for place in (folder, home, *home.iterdir()):
        os.chown(place, 10001, 10001)
    port = free_port()
    command = [*buildah, "run", "--isolation", "chroot", "--volume", f"{home}:/srv/quaestor"]
    command += [container, "--", "quaestor", "serve", "--port", str(port)]
    command += ["--catalog", "/srv/quaestor/quaestor.toml", "--time-step", "0.05"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.2)
        import quaestor as q

        remote = q.connect(f"http://127.0.0.1:{port}", token=token)
        assert not remote.ask(COUNT, epsilon=1.0, account="research").repeated
        assert (home / "quaestor.toml").stat().st_uid == 10001
    finally:
        process.terminate()
        process.wait(PATIENCE)
