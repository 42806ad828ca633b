"""Texts in the documented formats, written by hand: none of them is from a box of ours."""

import pytest

from labs import console
from labs.live.gpu_formats import links, near_cpus, reason_of, transport
from labs.live.gpu_outputs import Before, signals_of, worst_link

QUERY = """\
index, utilization.gpu [%], clocks.current.sm [MHz], clocks_event_reasons.active, power.draw [W], temperature.gpu, memory.used [MiB]
0, 98 %, 1980 MHz, 0x0000000000000000, 412.31 W, 54, 75123 MiB
1, 97 %, 1065 MHz, 0x0000000000000004, 249.80 W, 49, 75121 MiB
2, 0 %, 345 MHz, 0x0000000000000001, 71.02 W, 30, 4 MiB
3, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]
"""
DMON = """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk  gract mmaact   dram  pcitx  pcirx  nvlrx  nvltx
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz      %      %      %   MB/s   MB/s   MB/s   MB/s
    0    412     54     61     98     60      0      0      0      0   2619   1980     98     31     52     40     22  21000  21500
    1    250     49     55     97     58      0      0      0      0   2619   1065     97     17     28   9100   9000    120    130
    0    410     54      -     96     60      0      0      0      0   2619   1980     98     30     52     41     22  21000  21400
"""
TABLE = """\
Mon Nov 30 10:00:00 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.65.06              Driver Version: 580.65.06      CUDA Version: 13.0     |
|   0  NVIDIA H100 NVL                On  |   00000000:17:00.0 Off |                    0 |
| N/A   54C    P0            312W /  400W |   87311MiB /  95830MiB |     98%      Default |
|                                         |                        |             Disabled |
|   1  NVIDIA H100 NVL                On  |   00000000:3D:00.0 Off |                    0 |
| N/A   51C    P0            287W /  400W |   87309MiB /  95830MiB |     90%      Default |
+-----------------------------------------------------------------------------------------+
"""
APPS = """\
gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-1, 3456, VLLM::Worker_TP0, 86890 MiB
GPU-2, 3457, /usr/bin/python3, 86888 MiB
GPU-2, 9911, python3, 3204 MiB
"""
TOPO = """\
        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV12    SYS     SYS     PIX     0-31,64-95      0               N/A
GPU1    NV12     X      SYS     SYS     NODE    0-31,64-95      0               N/A
GPU2    SYS     SYS      X      NV12    SYS     32-63,96-127    1               N/A
GPU3    SYS     SYS     NV12     X      SYS     32-63,96-127    1               N/A
NIC0    PIX     NODE    SYS     SYS      X

Legend:
  X    = Self
"""
NVLINK = """\
GPU 0: NVIDIA H100 NVL (UUID: GPU-1)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
\t Link 4: <inactive>
GPU 1: NVIDIA H100 NVL (UUID: GPU-2)
\t Link 4: <inactive>
"""
PERF = """\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     8388608       2097152     float     sum      -1    612.0   13.71   13.71      0    608.1   13.79   13.79      0
    16777216       4194304     float     sum      -1   1190.0   14.10   14.10      0   1188.0   14.12   14.12      0
# Avg bus bandwidth    : 13.93
     8388608       2097152     float     sum      -1     64.0  131.07  131.07      0     63.1  132.90  132.90      0
"""
DCGM = """\
# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100 NVL",Hostname="box"} 1785
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-2",device="nvidia1",modelName="NVIDIA H100 NVL",Hostname="box"} 1050
DCGM_FI_DEV_SM_CLOCK{gpu="3",UUID="GPU-4",device="nvidia3",modelName="NVIDIA H100 NVL",Hostname="box"} 345
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100 NVL",Hostname="box"} 100
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-2",device="nvidia1",modelName="NVIDIA H100 NVL",Hostname="box"} 90
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100 NVL",Hostname="box"} 0.311200
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100 NVL",Hostname="box"} 87311
"""
ASKED = "nvidia-smi --query-gpu=index,utilization.gpu,clocks.sm,clocks_event_reasons.active,power.draw,temperature.gpu,memory.used --format=csv"


def of(line, text, **options):
    return signals_of(console.parse(line), text, groups=options.pop("groups", [(0, 1)]), **options)


def test_a_query_shows_the_gpus_that_serve():
    assert of(ASKED, QUERY) == {
        "gpu_util": pytest.approx(0.975),
        "gpu_util_min": pytest.approx(0.97),
        "sm_clock_mhz_min": 1065,
        "throttle_reason": "sw_power_cap",
        "power_w_min": 249.80,
        "temperature_c_max": 54,
        "memory_used_mib_max": 75123,
    }


def test_what_the_driver_does_not_tell_is_no_signal():
    assert of(ASKED, QUERY, groups=[(3,)]) == {}


def test_dmon_shows_its_last_sample_and_links_both_ways():
    found = of("nvidia-smi dmon -c 2 --gpm-metrics", DMON)
    assert found["sm_clock_mhz_min"] == 1065
    assert found["gpu_util_min"] == pytest.approx(0.96)
    assert found["tensor_active_min"] == pytest.approx(0.17)
    assert found["dram_active_min"] == pytest.approx(0.28)
    assert found["pcie_gb_s_max"] == pytest.approx(9.1)
    assert found["nvlink_gb_s_min"] == pytest.approx(0.25)


def test_dmon_without_gpm_shows_no_tensor_activity():
    plain = "# gpu    pwr  gtemp     sm   pclk\n# Idx      W      C      %    MHz\n    0    412     54     98   1980\n"
    assert set(of("nvidia-smi dmon", plain)) == {
        "gpu_util", "gpu_util_min", "sm_clock_mhz_min", "power_w_min", "temperature_c_max",
    }  # fmt: skip


def test_the_plain_table_shows_watts_heat_memory_and_utilisation():
    found = of("nvidia-smi", TABLE)
    assert found == {
        "gpu_util": pytest.approx(0.94),
        "gpu_util_min": pytest.approx(0.90),
        "power_w_min": 287,
        "temperature_c_max": 54,
        "memory_used_mib_max": 87311,
    }


def test_a_process_that_is_no_engines_is_foreign():
    line = "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv"
    assert of(line, APPS)["foreign_processes"] == 2
    assert of(line, APPS, own_pids={3457})["foreign_processes"] == 1
    assert of(line, "gpu_uuid, used_gpu_memory [MiB]\n")["foreign_processes"] is None


def test_links_that_lead_nowhere_by_design_are_no_fault():
    assert of("nvidia-smi nvlink -s", NVLINK)["inactive_links"] == 3
    before = Before(inactive_links=2)
    assert of("nvidia-smi nvlink -s", NVLINK, before=before)["inactive_links"] == 1


def test_the_slowest_link_within_a_group_counts():
    assert links(TOPO)[0, 1] == "NV12"
    assert worst_link(TOPO, [(0, 1), (2, 3)]) == "NV12"
    assert worst_link(TOPO, [(0, 1), (1, 2)]) == "SYS"
    assert worst_link("no matrix", [(0, 1)]) is None


def test_the_topology_of_the_box_says_how_each_group_is_joined():
    assert of("topo -m", TOPO, groups=[(0, 1), (2, 3)]) == {"worst_link": "NV12"}
    assert of("topo -m", TOPO, groups=[(0, 2)]) == {"worst_link": "SYS"}


def test_workers_on_no_cpu_near_their_gpu_are_counted():
    before = Before(near=near_cpus(TOPO))
    assert before.near == ("0-31,64-95", "0-31,64-95", "32-63,96-127", "32-63,96-127")
    text = "pid 71's current affinity list: 32-63,96-127\npid 72's current affinity list: 0-127"
    assert of("taskset -cp", text, before=before) == {"far_numa_gpus": 1}
    assert of("taskset -cp", text) == {"far_numa_gpus": None}
    assert of("taskset -cp", text, before=before, groups=[(0,)]) == {"far_numa_gpus": None}


def test_the_slowest_groups_bus_bandwidth_at_8_mib_counts():
    assert of("all_reduce_perf -b 8M -e 32M -f 2", PERF) == {"busbw_gb_s_min": 13.71}
    assert of("all_reduce_perf -b 8M -e 32M -f 2", "CUDA error") == {"busbw_gb_s_min": None}


def test_a_channel_through_the_host_is_what_counts_of_a_log():
    direct = "b:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
    staged = "b:1:2 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct"
    assert transport(direct) == "P2P"
    assert transport(f"{direct}\n{staged}") == "SHM"
    assert transport("nothing of it") is None


def test_xids_that_were_there_before_do_not_count():
    log = "[Mon] NVRM: Xid (PCI:0000:17:00): 74, NVLink\n[Mon] NVRM: Xid (PCI:0000:3D:00): 79\n"
    assert of("dmesg -T", log)["xids"] == 2
    assert of("dmesg -T", log, before=Before(xids=2))["xids"] == 0


def test_the_exporters_page_shows_the_counters_that_it_has():
    assert of("curl -s localhost:9400/metrics", DCGM) == {
        "gpu_util": pytest.approx(0.95),
        "gpu_util_min": pytest.approx(0.90),
        "sm_clock_mhz_min": 1050,
        "tensor_active": pytest.approx(0.3112),
        "tensor_active_min": pytest.approx(0.3112),
        "memory_used_mib_max": 87311,
    }


@pytest.mark.parametrize(
    ("mask", "reason"),
    [(0x0, "none"), (0x1, "none"), (0x2, "none"), (0x4, "sw_power_cap"), (0x48, "hw_thermal_slowdown"), (0x20, "sw_thermal_slowdown")],
)  # fmt: skip
def test_a_mask_of_clock_events_is_the_reason_that_explains_a_low_clock(mask, reason):
    assert reason_of(mask) == reason
