"""Files of somebody else never become code of a run: of the current directory, suites, run folders."""

from __future__ import annotations

import grp
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.safe_folders import who_else_may_write
from byteways.base.settings import SETTINGS, module_command
from byteways.cases.case import Case
from byteways.measuring.conduct.process import WorkerProcess
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.shared.options import RunOptions
from byteways.plan.hosts.names import Host, check_names
from byteways.plan.variables import accepted_variables, readers, refusal
from byteways.start import without_current_directory
from tests.cli.called import byteways
from tests.faults.harness import Command

#: Innocent names of a user's own files that hide modules of the standard library.
NAMES = ("json.py", "select.py", "statistics.py", "socket.py", "runpy.py", "typing.py", "msgspec.py")


@pytest.fixture
def shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, full of files that end a Python that imports them."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text("raise SystemExit('code of the current directory')\n")
    monkeypatch.chdir(folder)
    return folder


def test_worker(shadowed: Path, tmp_path: Path) -> None:
    """Would catch a worker that imports, or only looks into, the folder that the user happens to be in."""
    worker = WorkerProcess(tmp_path / "log")
    assert Path(f"/proc/{worker.pid}/cwd").resolve() == shadowed
    worker.stop()
    assert "code of the current directory" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("path", ["", ":/nosuch", "."])
def test_no_child_searches_the_current_directory(
    shadowed: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch an exporter or compiling child with the folder, or a PYTHONPATH with an empty part."""
    monkeypatch.setenv("PYTHONPATH", path)
    for module in (
        "byteways.measuring.work.exporter",
        "byteways.measuring.work.compile_kernels",
        "byteways.measuring.work.worker",
    ):
        done = subprocess.run([*module_command(module), "--help"], capture_output=True, text=True)
        assert "code of the current directory" not in done.stderr, module
    told = subprocess.run(module_command("site"), capture_output=True, text=True)
    assert f"'{shadowed}'" not in told.stdout and "sys.path" in told.stdout


def test_command_line(shadowed: Path) -> None:
    """Would catch `byteways` itself importing from there: what it loads late, a verb at a time."""
    program = Path(sys.executable).with_name("byteways")
    for command in ([str(program)], [sys.executable, str(Path(program))]):
        done = subprocess.run([*command, "list", "suites"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_package_itself_may_lie_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a checkout that cannot be used from its own source folder."""
    import byteways

    home = Path(byteways.__file__).parents[1]
    monkeypatch.chdir(home)
    assert without_current_directory(["", "/usr/lib"]) == [str(home), "/usr/lib"]
    monkeypatch.chdir("/")
    assert without_current_directory(["", "lib", "/usr/lib"]) == ["/usr/lib"]


def test_no_library_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch ./_rocm_sdk_core/lib/libamdhip64.so being loaded before the one of /opt/rocm."""
    for folder in ("_rocm_sdk_core/lib", "nvidia/cuda_nvrtc/lib", "torch/lib", "own/lib"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    relative = {"CUDA_HOME": "own", "ROCM_PATH": "."}
    assert library_directories(relative, ["", ".", "own"], tmp_path / "nosuch") == []


#: Variables that name code, a program, its arguments, or a file that decides about them.
OF_CODE = (
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PATH", "HOME", "TMPDIR", "PYTHONPATH", "PYTHONSTARTUP"),
    *("GCONV_PATH", "GLIBC_TUNABLES", "BASH_ENV", "CXX", "BYTEWAYS_WORKER", "BYTEWAYS_WATCH"),
    *(setting.name for setting in SETTINGS if setting.names_library),
    *("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN", "NCCL_CONF_FILE"),
    *("NCCL_TOPO_FILE", "RCCL_TUNER_PLUGIN", "ROCP_TOOL_LIBRARIES", "HSA_TOOLS_LIB", "AMD_COMGR_CACHE_DIR"),
    *("HIPRTC_COMPILE_OPTIONS_APPEND", "HIP_CLANG_PATH", "CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH"),
    *("CUDA_CACHE_PATH", "CUDA_COREDUMP_FILE", "OMPI_MCA_mca_base_component_path", "OMPI_MCA_plm_rsh_agent"),
    *("OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_launch_agent", "OMPI_MCA_coll_tuned_dynamic_rules_filename"),
    *("OPAL_PREFIX", "PRTE_MCA_plm_ssh_agent", "PMIX_MCA_mca_base_component_path", "UCX_MODULE_DIR"),
    *("UCX_GDB_CMD", "UCX_CONFIG_DIR", "UCC_COMPONENT_PATH", "FI_PROVIDER_PATH", "I_MPI_OFI_LIBRARY"),
    *("I_MPI_ROOT", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER_EXEC", "OMP_TOOL_LIBRARIES", "MALLOC_CONF"),
    *("MPICH_RANK_REORDER_FILE", "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"),
)


@pytest.mark.parametrize("name", OF_CODE)
def test_variables_that_name_code_are_refused(name: str) -> None:
    """Would catch a variable by which a file chooses a library, a program or its arguments."""
    assert refusal(name, "1") is not None


@pytest.mark.parametrize("value", ["/tmp/x", "./x", "../x", "~/x", "a:/x", "a,./x", "a=/x", "1\n2", "\0"])
def test_values_that_name_files_are_refused(value: str) -> None:
    """Would catch a plugin that an unknown variable of an accepted library names by its path."""
    assert refusal("NCCL_NEW_SWITCH", value) is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HSA_XNACK", "1"),
        ("NCCL_ALGO", "allreduce:tree;broadcast:ring"),
        ("NCCL_SOCKET_IFNAME", "=eth0"),
        ("UCX_TLS", "self,sm,cuda"),
        ("OMPI_MCA_btl_tcp_if_include", "10.0.0.0/8"),
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
        ("CUDA_MODULE_LOADING", "LAZY"),
        ("OMP_NUM_THREADS", "4"),
    ],
)
def test_settings_that_are_measured_are_accepted(name: str, value: str) -> None:
    """Would catch a list that refuses what suites are for."""
    assert refusal(name, value) is None


def test_accepted_variables_are_of_known_readers() -> None:
    """Would catch a glob so wide that it takes in the variables of a shell or of the dynamic linker."""
    known = [glob.rstrip("*") for reader in readers() for glob in reader.variables]
    known += ["OMP_", "GOMP_", "KMP_", "MALLOC_", "BYTEWAYS_"]
    assert [glob for glob in accepted_variables() if not glob.startswith(tuple(known))] == []


EVIL = """name = "evil"
title = "evil"
rounds = 1

[[sweep]]
name = "a"
interface = "memcpy"
source = "cpu0:pageable"
destination = "cpu0:pageable"
size = "4KiB"
environment = { LD_PRELOAD = "evil.so" }
"""


def test_suite_that_would_load_a_library(tmp_path: Path) -> None:
    """Would catch a suite of somebody else whose library runs in the workers."""
    (tmp_path / "evil.toml").write_text(EVIL)
    done = byteways(tmp_path, "run", "evil.toml")
    assert done.returncode == ExitStatus.USAGE
    assert "evil.toml:11: sweep 'a', key 'environment.LD_PRELOAD'" in done.stderr
    assert "hint: if you trust it" in done.stderr and "LD_PRELOAD=evil.so byteways run" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["evil.toml"]


def changed_folder(command: Command, **options: str) -> Path:
    """A run that lacks its last record, with other options."""
    assert command.new().returncode == 0
    journal, manifest = command.folder / "measurements.jsonl", command.folder / "run.json"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    content = json.loads(manifest.read_text())
    content["options"] |= options
    manifest.write_text(json.dumps(content))
    return command.folder


def test_plan_of_a_folder_that_would_load_a_library(command: Command) -> None:
    """Would catch a run folder whose plan has variables that its suite must not have."""
    plan = changed_folder(command) / "plan.jsonl"
    lines = [json.loads(line) for line in plan.read_text().splitlines()]
    lines[1]["case"]["environment"] = {"LD_PRELOAD": "evil.so"}
    lines[1]["case_id"] = Case.from_json(lines[1]["case"]).case_id  # which belongs to its definition
    plan.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    before = (command.folder / "measurements.jsonl").read_bytes()
    done = command.resume()
    assert done.returncode == ExitStatus.USAGE and "line 2: LD_PRELOAD is" in done.stderr
    assert (command.folder / "measurements.jsonl").read_bytes() == before


def test_launcher_of_a_folder_is_given_again(command: Command, tmp_path: Path) -> None:
    """Would catch a command of whoever wrote the folder that runs when it is resumed."""
    foreign = f"sh -c 'touch {tmp_path}/PWN; exec \"$@\"' --"
    folder = changed_folder(command, launcher=foreign)
    for words in ([], ["--launcher", "other -n {ranks}"], ["--dry-run"]):
        done = command.run("--resume", str(folder), *words)
        assert done.returncode == ExitStatus.USAGE and "its launcher is" in done.stderr, words
        assert f"byteways run --resume {folder} --launcher" in done.stderr
    assert not (tmp_path / "PWN").exists()
    assert command.run("--resume", str(folder), "--launcher", foreign).returncode == 0


def test_launcher_is_compared(tmp_path: Path) -> None:
    """Would catch a launcher that a resumed run gets anew, and `local` that has to be repeated."""
    RunOptions().check_launcher(tmp_path, None)
    RunOptions(launcher="local").check_launcher(tmp_path, None)
    with pytest.raises(BytewaysError):
        RunOptions().check_launcher(tmp_path, "mpiexec")


@pytest.mark.parametrize("names", [["n1", "-oProxyCommand=x"], ["n1", "n 2"], ["n1", "n1"], ["n1", ""]])
def test_hosts_of_a_folder_are_names(names: list[str]) -> None:
    """Would catch an option of a launcher in the place of a host's name."""
    check_names([Host("n1", "rack1"), Host("n2")])
    with pytest.raises(ValueError, match=r"name|twice"):
        check_names([Host(name) for name in names])


def test_files_that_others_may_write_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a suite that everybody may change, and a warning for every user of Debian, whose own group
    may write what he makes.
    """
    tmp_path.chmod(0o755)
    suite = tmp_path / "suite.toml"
    suite.write_text(EVIL.replace("environment", "#"))
    suite.chmod(0o644)
    assert who_else_may_write(suite) is None and who_else_may_write(tmp_path / "missing") is None
    suite.chmod(0o666)
    assert "everybody" in (who_else_may_write(suite) or "")
    done = byteways(tmp_path, "run", "suite.toml", "--dry-run", BYTEWAYS_GPUS="0")
    assert done.returncode == 0 and "warning: suite.toml may be written by everybody" in done.stderr
    suite.chmod(0o644)
    tmp_path.chmod(0o777)
    assert str(tmp_path) in (who_else_may_write(suite) or "")
    tmp_path.chmod(0o1777)
    assert who_else_may_write(suite) is None
    suite.chmod(0o664)
    owner = suite.stat()
    user = pwd.struct_passwd(("me", "", owner.st_uid, owner.st_gid, "", "", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group(("me", "", owner.st_gid, [])))
    assert who_else_may_write(suite) is None
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group(("hpc", "", owner.st_gid, ["you"])))
    assert "hpc" in (who_else_may_write(suite) or "")


def test_file_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a run folder of another user that is taken for one's own."""
    (tmp_path / "suite.toml").write_text("")
    if os.geteuid() == 0:
        os.chown(tmp_path / "suite.toml", 12345, -1)
    else:
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert "belongs to user" in (who_else_may_write(tmp_path / "suite.toml") or "")
