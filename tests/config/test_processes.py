from config.processes import WorkerSlot, gpu_count, own_worker_slots, worker_command, worker_slots
from config.up import describe_workers


def test_without_gpus_there_is_a_worker_per_core():
    assert worker_slots(None, cores=2, gpus=0) == [WorkerSlot(1, "cpu", "cpu", 1), WorkerSlot(2, "cpu", "cpu", 1)]


def test_fewer_workers_get_more_threads():
    assert worker_slots(2, cores=9, gpus=0) == [WorkerSlot(1, "cpu", "cpu", 4), WorkerSlot(2, "cpu", "cpu", 4)]
    assert [slot.threads for slot in worker_slots(8, cores=2, gpus=0)] == [1] * 8


def test_with_gpus_there_is_a_worker_per_gpu():
    assert worker_slots(None, cores=8, gpus=2) == [
        WorkerSlot(1, "gpu,cpu", "cuda:0", 4),
        WorkerSlot(2, "gpu,cpu", "cuda:1", 4),
    ]
    assert [slot.device for slot in worker_slots(1, cores=8, gpus=2)] == ["cuda:0"]


def test_no_gpu_is_given_to_two_workers_unless_asked_for():
    assert worker_slots(3, cores=8, gpus=2) == [
        WorkerSlot(1, "gpu,cpu", "cuda:0", 2),
        WorkerSlot(2, "gpu,cpu", "cuda:1", 2),
        WorkerSlot(3, "cpu", "cpu", 2),
    ]
    assert describe_workers(worker_slots(3, cores=8, gpus=2)) == "3 ready, 2 on GPU and 1 on CPU, 2 threads each"
    assert describe_workers(worker_slots(2, cores=8, gpus=2)) == "2 ready, on GPU, 4 threads each"


def test_several_workers_may_share_each_gpu():
    assert worker_slots(None, cores=8, gpus=2, runs_per_gpu=2) == [
        WorkerSlot(1, "gpu,cpu", "cuda:0", 2),
        WorkerSlot(2, "gpu,cpu", "cuda:1", 2),
        WorkerSlot(3, "gpu,cpu", "cuda:0", 2),
        WorkerSlot(4, "gpu,cpu", "cuda:1", 2),
    ]


def test_fewer_workers_than_the_gpus_have_room_for_are_spread_and_further_ones_compute_on_the_cpu():
    def devices(workers):
        return [slot.device for slot in worker_slots(workers, cores=8, gpus=2, runs_per_gpu=3)]

    assert devices(3) == ["cuda:0", "cuda:1", "cuda:0"]
    assert devices(7) == ["cuda:0", "cuda:1", "cuda:0", "cuda:1", "cuda:0", "cuda:1", "cpu"]


def test_runs_per_gpu_change_nothing_where_there_is_none():
    assert worker_slots(None, cores=2, gpus=0, runs_per_gpu=4) == worker_slots(None, cores=2, gpus=0)


def test_this_machines_workers_follow_from_its_settings(monkeypatch):
    """What `make up` and `manage.py workers` start, on a machine that is said to have two GPUs and eight cores."""
    monkeypatch.setattr("config.processes.gpu_count", lambda: 2)
    monkeypatch.setattr("config.processes.core_count", lambda: 8)
    monkeypatch.setenv("TRIBUTARY_RUNS_PER_GPU", "2")
    monkeypatch.setenv("WORKERS", "3")
    slots = own_worker_slots("spare")
    assert [(each.name, each.environment) for each in slots] == [
        ("spare-1", {"TRIBUTARY_DEVICE": "cuda:0", "TRIBUTARY_THREADS": "2"}),
        ("spare-2", {"TRIBUTARY_DEVICE": "cuda:1", "TRIBUTARY_THREADS": "2"}),
        ("spare-3", {"TRIBUTARY_DEVICE": "cuda:0", "TRIBUTARY_THREADS": "2"}),
    ]
    names = [command[command.index("--hostname") + 1].partition("@")[0] for command in map(worker_command, slots)]
    assert names == ["spare-1", "spare-2", "spare-3"]
    monkeypatch.delenv("WORKERS")
    assert describe_workers(own_worker_slots()) == "4 ready, on GPU, 2 threads each"


def test_there_may_be_no_workers_at_all():
    assert worker_slots(0, cores=4, gpus=0) == []
    assert describe_workers([]) == "none (WORKERS=0): runs stay queued"


def test_a_worker_runs_one_run_at_a_time_on_its_device():
    slot = WorkerSlot(3, "gpu,cpu", "cuda:2", 4)
    command = worker_command(slot)
    assert command[command.index("--concurrency") + 1] == "1"
    assert command[command.index("--queues") + 1] == "gpu,cpu"
    assert slot.environment == {"TRIBUTARY_DEVICE": "cuda:2", "TRIBUTARY_THREADS": "4"}


def test_gpus_are_counted_as_torch_would_see_them(tmp_path, monkeypatch):
    for name in ("nvidia0", "nvidia1", "nvidiactl", "null"):
        (tmp_path / name).touch()
    monkeypatch.setattr("config.processes.torch_can_use_gpus", lambda: True)
    assert gpu_count({}, tmp_path) == 2
    assert gpu_count({"CUDA_VISIBLE_DEVICES": "1"}, tmp_path) == 1
    assert gpu_count({"CUDA_VISIBLE_DEVICES": ""}, tmp_path) == 0
    assert gpu_count({"CUDA_VISIBLE_DEVICES": "-1"}, tmp_path) == 0


def test_a_torch_without_cuda_has_no_gpus(tmp_path, monkeypatch):
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr("config.processes.version", lambda _: "2.13.0+cpu")
    assert gpu_count({}, tmp_path) == 0
