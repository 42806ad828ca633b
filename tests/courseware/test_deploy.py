"""The files that a GPU box is started by: they parse, their keys are known, and they agree with the code and each other.

Keys are held against Kubernetes' reference by hand: no schema of it can be had without a network.
"""

import ast
import re
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands

from labs import live_supervisor
from labs.live import boxes

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
WORKER = yaml.safe_load((FOLDER / "gpu-worker.yaml").read_text(encoding="utf-8"))
CHECK = yaml.safe_load((FOLDER / "first-check.yaml").read_text(encoding="utf-8"))
MANIFESTS = {"gpu-worker.yaml": WORKER, "first-check.yaml": CHECK}

KNOWN = {
    "": {"apiVersion", "kind", "metadata", "spec"},
    "metadata": {"name", "labels"},
    "deployment": {"replicas", "strategy", "selector", "template"},
    "job": {"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "template"},
    "pod": {
        "nodeSelector", "tolerations", "hostname", "hostPID", "automountServiceAccountToken", "restartPolicy",
        "terminationGracePeriodSeconds", "containers", "volumes",
    },
    "container": {
        "name", "image", "command", "envFrom", "env", "resources", "securityContext", "lifecycle", "volumeMounts",
    },
    "securityContext": {"runAsUser", "capabilities"},
    "resources": {"requests", "limits"},
    "volume": {"name", "emptyDir", "hostPath"},
    "mount": {"name", "mountPath", "readOnly"},
    "env": {"name", "value", "valueFrom"},
    "compose": {
        "build", "restart", "environment", "profiles", "command", "cap_add", "hostname", "pid", "shm_size",
        "stop_grace_period", "volumes", "deploy", "depends_on",
    },
}  # fmt: skip


def pod_of(manifest):
    return manifest["spec"]["template"]["spec"]


def container_of(manifest):
    (found,) = pod_of(manifest)["containers"]
    return found


def variables(manifest):
    return {each["name"]: each.get("value") for each in container_of(manifest)["env"]}


def read_settings():
    tree = ast.parse((ROOT / "courseware" / "settings.py").read_text(encoding="utf-8"))
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    models = {each.model[1:] for name in PROFILES for each in boxes.box(name).models}
    return words | models | {"VLLM_CACHE_ROOT", "NVIDIA_DRIVER_CAPABILITIES"}


PROFILES = [path.stem for path in boxes.PROFILES_DIR.glob("h100-*.toml")]


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_every_manifest_has_known_keys_and_nothing_else(name):
    manifest = MANIFESTS[name]
    pod, container = pod_of(manifest), container_of(manifest)
    assert set(manifest) == KNOWN[""]
    assert set(manifest["metadata"]) <= KNOWN["metadata"]
    assert set(manifest["spec"]) <= KNOWN[manifest["kind"].lower()]
    assert set(pod) <= KNOWN["pod"]
    assert set(container) <= KNOWN["container"]
    assert set(container["securityContext"]) <= KNOWN["securityContext"]
    assert set(container["resources"]) <= KNOWN["resources"]
    assert all(set(each) <= KNOWN["volume"] for each in pod["volumes"])
    assert all(set(each) <= KNOWN["mount"] for each in container["volumeMounts"])
    assert all(set(each) <= KNOWN["env"] for each in container["env"])
    assert (manifest["apiVersion"], manifest["kind"]) in {
        ("apps/v1", "Deployment"),
        ("batch/v1", "Job"),
    }


@pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS)
def test_every_volume_is_mounted_and_every_mount_has_a_volume(manifest):
    mounts = {each["name"] for each in container_of(manifest)["volumeMounts"]}
    assert mounts == {each["name"] for each in pod_of(manifest)["volumes"]}


@pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS)
def test_a_pod_has_every_gpu_of_its_box(manifest):
    limits = container_of(manifest)["resources"]["limits"]
    requests = container_of(manifest)["resources"]["requests"]
    box = pod_of(manifest)["nodeSelector"]["courseware/box"]
    # An extended resource cannot be overcommitted: both must be the same.
    assert limits["nvidia.com/gpu"] == requests["nvidia.com/gpu"] == len(boxes.box(box).devices)


def test_the_deployments_pods_are_those_that_it_selects():
    spec = WORKER["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_worker_and_check_are_of_one_image_node_and_place():
    for one, other in ((container_of(WORKER), container_of(CHECK)),):
        assert one["image"] == other["image"]
        assert one["securityContext"] == other["securityContext"]
    shared = variables(CHECK).keys() & variables(WORKER).keys()
    assert {name: variables(WORKER)[name] for name in shared} == {
        name: variables(CHECK)[name] for name in shared
    }
    assert pod_of(WORKER)["nodeSelector"] == pod_of(CHECK)["nodeSelector"]
    named = {each["name"]: each for each in pod_of(WORKER)["volumes"]}
    assert all(named[each["name"]] == each for each in pod_of(CHECK)["volumes"])


def test_the_place_of_ledgers_is_on_the_nodes_own_disk_where_the_settings_look():
    mounts = {each["name"]: each["mountPath"] for each in container_of(WORKER)["volumeMounts"]}
    volume = next(each for each in pod_of(WORKER)["volumes"] if each["name"] == "live")
    assert "hostPath" in volume
    assert mounts["live"] == variables(WORKER)["LIVE_DIR"]
    assert variables(WORKER)["LIVE_MODEL"].startswith(mounts["models"] + "/")


def test_a_stop_has_time_for_the_engine_and_for_the_undo():
    needed = settings.LIVE_GRACE_S + live_supervisor.STOP_MARGIN_S + 60
    assert pod_of(WORKER)["terminationGracePeriodSeconds"] > needed
    assert int(COMPOSE["services"]["live-gpu"]["stop_grace_period"].removesuffix("s")) > needed


@pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS)
def test_every_variable_is_one_that_somebody_reads(manifest):
    assert set(variables(manifest)) <= read_settings()
    assert variables(manifest).get("LIVE_PROFILE", PROFILES[0]) in PROFILES


def commands():
    pre_stop = container_of(WORKER)["lifecycle"]["preStop"]["exec"]["command"]
    service = COMPOSE["services"]["live-gpu"]["command"]
    return [container_of(WORKER)["command"], container_of(CHECK)["command"], pre_stop, service]


def test_commands_are_those_of_this_course_run_by_the_environment_beside_vllm():
    for python, manage, name, *_ in commands():
        assert (python, manage) == ("/opt/course/bin/python", "manage.py")
        assert name in get_commands()
    assert commands()[0] == commands()[3]


def test_the_box_of_compose_is_the_one_of_kubernetes():
    service = COMPOSE["services"]["live-gpu"]
    assert set(service) <= KNOWN["compose"]
    assert service["cap_add"] == container_of(WORKER)["securityContext"]["capabilities"]["add"]
    assert service["profiles"] == ["gpu"]
    assert set(service["environment"]) - set(COMPOSE["x-course"]["environment"]) <= read_settings()
    names = {each.partition(":")[0] for each in service["volumes"] if not each.startswith("$")}
    assert names <= set(COMPOSE["volumes"])


def test_no_service_but_the_box_needs_a_gpu_or_a_capability():
    others = {name: each for name, each in COMPOSE["services"].items() if name != "live-gpu"}
    assert not any({"cap_add", "deploy", "pid", "profiles"} & set(each) for each in others.values())


def test_the_image_is_vllms_of_the_version_that_the_profiles_are_written_for():
    text = (ROOT / "Dockerfile.gpu").read_text(encoding="utf-8")
    version = re.search(r"^FROM vllm/vllm-openai:v(\d+\.\d+)\.\d+$", text, re.MULTILINE)
    assert version is not None
    assert all(version[1] in boxes.box(name).title for name in PROFILES)
    assert '"/opt/course/bin/python", "manage.py", "live_worker"' in text
    assert "--require-hashes -r requirements.txt" in text
