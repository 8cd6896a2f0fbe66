"""`tessera train` on a SavedModel with a train signature, with TensorFlow as the oracle."""

import json
import os
import pty
import random
import signal
import subprocess
import time

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from clients.server import binary, environment  # noqa: E402
from training import train_jobs  # noqa: E402
from training.train_jobs import checkpoint_steps, command, losses, records, train  # noqa: E402


def test_trains_as_tensorflow_does(made, curve, tmp_path):
    assert sorted(curve) == list(range(1, 41))
    assert curve[40] < curve[1] / 5
    # TensorFlow's variables after the same batches, in the order of the files.
    ordered = losses(train(made / "job.yaml", folder=tmp_path / "run", data__train__shuffle=0))
    module = train_jobs.Linear()
    x, y = train_jobs.examples()
    expected = []
    for step in range(40):
        rows = slice(8 * (step % 8), 8 * (step % 8) + 8)
        expected.append(float(module.calls["train_step"](tf.constant(x[rows]),
                                                              tf.constant(y[rows]))["loss"]))
    np.testing.assert_allclose([ordered[step] for step in range(1, 41)], expected, rtol=1e-4)


def test_same_seed_gives_the_same_curve(job, curve):
    assert losses(train(job)) == curve
    assert losses(train(job, resume="false", seed=2)) != curve


def test_tells_its_events_and_logs_them(job):
    process = train(job)
    events = [each["event"] for each in records(process)]
    assert events[0] == "start" and events[-1] == "end"
    assert '"steps":40,' in process.stdout.splitlines()[0], "a count has no decimal point"
    assert events.count("checkpoint") == 4 and events.count("eval") == 2
    last = [each for each in records(process) if each["event"] == "eval"][-1]
    assert last["mean_squared_error"] == pytest.approx(last["loss"], rel=1e-5)
    log = (job.parent / "run" / "log.jsonl").read_text(encoding="utf-8")
    assert log == process.stdout
    assert checkpoint_steps(job.parent / "run") == [10, 20, 30, 40]


def test_resumed_run_stays_on_the_curve(job, curve):
    first = losses(train(job, steps=13))
    second = train(job)
    assert records(second)[1]["event"] == "resume" and records(second)[1]["step"] == 13
    assert first | losses(second) == curve
    # Nothing is left to do.
    assert losses(train(job)) == {}


def test_evaluations_of_a_few_batches_go_on_where_the_last_one_ended(job):
    settings = {"eval__batches": 3, "eval__every_steps": 10}

    def evaluations(process):
        assert process.returncode == 0, process.stderr
        return [each for each in records(process) if each["event"] == "eval"]

    whole = evaluations(train(job, folder="whole", **settings))
    parts = [evaluations(train(job, steps=steps, **settings)) for steps in (20, 40)]
    assert parts[0] + parts[1] == whole


def test_evaluations_of_as_many_batches_as_there_are_see_all_of_them(job):
    whole, counted = (
        [each for each in records(train(job, folder=folder, eval__every_steps=10, **settings))
         if each["event"] == "eval"]
        for folder, settings in (("whole", {}), ("counted", {"eval__batches": 8})))
    assert len(whole) == 4
    assert counted == whole


def test_resume_false_puts_the_earlier_run_aside(job, curve):
    train(job, steps=10)
    assert losses(train(job, resume="false")) == curve
    assert (job.parent / "run" / "earlier" / "1" / "log.jsonl").is_file()


def started(job):
    """A run without an end, behind its first steps."""
    process = subprocess.Popen(command(job, steps=10_000_000, hooks__logging__every_steps=1000),
                               stdout=subprocess.PIPE, text=True, env=environment())
    for line in process.stdout:
        if json.loads(line)["event"] == "step":
            break
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_write_a_checkpoint_and_exit_0(job, number):
    process = started(job)
    process.send_signal(number)
    rest = [json.loads(line) for line in process.stdout]
    assert process.wait(train_jobs.SECONDS) == 0
    assert [each["event"] for each in rest][-2:] == ["stop", "end"]
    assert checkpoint_steps(job.parent / "run")[-1] == rest[-1]["step"]


def write_slow_job(folder):
    """A job whose batches take far longer than its steps; its losses tell the batches apart."""
    graph = tf.Graph()
    with graph.as_default():
        image = tf.compat.v1.placeholder(tf.float32, [None, 8, 8, 3], name="image")
        scale = tf.compat.v1.get_variable("scale", initializer=np.float32(1))
        tf.reduce_mean(image * scale, name="loss_of_image")
        tf.compat.v1.train.export_meta_graph(str(folder / "slow.meta"))
    with tf.io.TFRecordWriter(str(folder / "slow.tfrecord")) as writer:
        for value in range(10):
            image = tf.io.encode_png(tf.fill([700, 700, 3], tf.cast(20 * value, tf.uint8)))
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.numpy()])),
            })).SerializeToString())
    job = folder / "slow.yaml"
    job.write_text("""
graph:
  meta_graph: slow.meta
  loss: {type: graph, output: "loss_of_image:0"}
  optimizer: {type: sgd, learning_rate: 1.0e-30}
data:
  train:
    files: [slow.tfrecord]
    fields: [{name: image, decode: png, shape: [-1, -1, 3], resize: [8, 8]}]
    shuffle: 5
    prefetch: 0
batch: 3
steps: 12
seed: 1
hooks: {logging: {every_steps: 1}}
""", encoding="utf-8")
    return job


def test_a_stop_that_interrupts_the_wait_for_a_batch_leaves_the_curve(tmp_path):
    job = write_slow_job(tmp_path)
    whole = losses(train(job, folder="whole"))
    assert len(set(whole.values())) > 4
    seen, interrupted = {}, 0
    while len(seen) < len(whole):
        process = subprocess.Popen(command(job), stdout=subprocess.PIPE, text=True,
                                   env=environment())
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["event"] == "step":
                process.send_signal(signal.SIGTERM)  # the next batch is being read
                lines += [json.loads(rest) for rest in process.stdout]
        assert process.wait(train_jobs.SECONDS) == 0
        assert not any("data_begin_anew" in each for each in lines)
        seen |= {each["step"]: each["loss"] for each in lines if each["event"] == "step"}
        saved = tf.train.load_checkpoint(
            tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints")))
        interrupted += saved.has_tensor("_tessera/data_taken")
    assert seen == whole
    assert interrupted > 0


def test_an_evaluation_that_a_stop_interrupts_is_made_by_the_run_that_goes_on(tmp_path):
    job = write_slow_job(tmp_path)
    fields = "[{name: image, decode: png, shape: [-1, -1, 3], resize: [8, 8]}]"
    settings = {
        "eval": "{every_steps: 2}",
        "data__eval": f"{{files: [slow.tfrecord], fields: {fields}}}",
        "steps": 4,
    }

    def evaluations(process):
        return [(each["step"], each["loss"]) for each in train_jobs.records(process)
                if each["event"] == "eval"]

    whole = evaluations(train(job, folder="whole", **settings))
    assert [step for step, _ in whole] == [2, 4]
    process = subprocess.Popen(command(job, **settings), stdout=subprocess.PIPE, text=True,
                               env=environment())
    lines = ""
    for line in process.stdout:
        lines += line
        if json.loads(line).get("step") == 2:
            process.send_signal(signal.SIGTERM)  # the evaluation is under way
            lines += process.stdout.read()
    assert process.wait(train_jobs.SECONDS) == 0
    first = evaluations(subprocess.CompletedProcess([], 0, lines))
    assert first + evaluations(train(job, **settings)) == whole


def test_a_run_whose_output_nobody_reads_ends_with_a_checkpoint(job):
    process = started(job)
    process.stdout.close()
    assert process.wait(train_jobs.SECONDS) == 0
    log = (job.parent / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(log[-1])
    assert last["event"] == "end"
    assert checkpoint_steps(job.parent / "run")[-1] == last["step"]


def test_a_terminal_shows_a_bar(job):
    controller, terminal = pty.openpty()
    process = subprocess.Popen(command(job, steps=10_000_000), stdout=terminal, stderr=terminal,
                               env=environment())
    os.close(terminal)
    shown = b""
    while b" left" not in shown:
        shown += os.read(controller, 4096)
    process.send_signal(signal.SIGTERM)
    while process.poll() is None:
        try:
            shown += os.read(controller, 4096)
        except OSError:  # the other end is closed
            break
    assert process.wait(train_jobs.SECONDS) == 0
    os.close(controller)
    assert b"of 10000000  loss " in shown and b"examples/s" in shown
    assert b"asked to stop" in shown and b"{" not in shown


def test_second_job_in_a_folder_is_told_who_holds_it(job):
    process = subprocess.Popen(command(job, steps=10_000_000), stdout=subprocess.PIPE, text=True,
                               env=environment())
    process.stdout.readline()
    second = train(job)
    assert second.returncode == 4
    assert f"process {process.pid} on " in second.stderr
    process.kill()
    process.wait()
    process.stdout.close()
    assert train(job, steps=1).returncode == 0  # a dead holder does not count


@pytest.mark.parametrize("asynchronous, kills, intervals", [("false", 100, 1), ("true", 50, 2)])
def test_kills_lose_no_more_than_they_may_and_tear_nothing(job, curve, asynchronous, kills,
                                                           intervals):
    """The process is killed many times, at any instant, and still ends on the curve."""
    run = job.parent / "run"
    draw = random.Random(7)
    settings = {"hooks__checkpoint__every_steps": 2, "steps": 1_000_000,
                "hooks__checkpoint__async": asynchronous,
                "hooks__logging__every_steps": 1, "hooks__checkpoint__max_to_keep": 2}
    seen, saved = dict(curve), 0
    for _ in range(kills):
        process = subprocess.Popen(command(job, **settings), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        # The first line comes once the folder is locked.
        lines = [process.stdout.readline()]
        time.sleep(draw.random() * 0.02)
        process.kill()
        out, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, err
        step = saved
        for each in map(json.loads, (lines + out.splitlines(keepends=True))[:-1]):
            if each["event"] == "resume":
                assert each["step"] == saved
            if each["event"] == "step":
                step = each["step"]
                assert seen.setdefault(step, each["loss"]) == each["loss"]
        for saved in checkpoint_steps(run):
            # Whole: TensorFlow reads every tensor.
            reader = tf.train.load_checkpoint(str(run / "checkpoints" / f"step-{saved}"))
            for key in reader.get_variable_to_shape_map():
                reader.get_tensor(key)
            assert reader.get_tensor("_tessera/step") == saved
        assert step - saved <= 2 * intervals
    assert saved > 0


def test_asynchronous_checkpoints_hold_the_step_they_were_taken_at(job, curve):
    process = train(job, hooks__checkpoint="{every_steps: 3, async: true, max_to_keep: 100}")
    assert process.returncode == 0, process.stderr
    assert losses(process) == curve
    run = job.parent / "run"
    assert checkpoint_steps(run) == [*range(3, 40, 3), 40]
    written = [each["step"] for each in records(process) if each["event"] == "checkpoint"]
    assert written == checkpoint_steps(run)
    # Later steps have not changed what was saved: TensorFlow goes on from each on the curve.
    ordered = train(job, data__train__shuffle=0, folder="ordered", hooks__checkpoint="{"
                    "every_steps: 3, async: true, max_to_keep: 100}")
    x, y = train_jobs.examples()
    for step in (3, 18, 39):
        module = train_jobs.Linear()
        prefix = job.parent / "ordered" / "checkpoints" / f"step-{step}"
        tf.train.Checkpoint(module).restore(str(prefix)).expect_partial()
        rows = slice(8 * (step % 8), 8 * (step % 8) + 8)
        loss = module.calls["loss"](tf.constant(x[rows]), tf.constant(y[rows]))["loss"]
        assert float(loss) == pytest.approx(losses(ordered)[step + 1], rel=1e-4)


def test_tensorflow_goes_on_where_a_run_stopped_and_back(job, curve):
    train(job, steps=20, data__train__shuffle=0)
    checkpoints = job.parent / "run" / "checkpoints"
    module = train_jobs.Linear()
    tf.train.Checkpoint(module).restore(
        tf.train.latest_checkpoint(str(checkpoints))).expect_partial()
    assert int(module.steps) == 20
    x, y = train_jobs.examples()
    ours = losses(train(job, data__train__shuffle=0, folder="straight"))
    for step in range(20, 30):
        rows = slice(8 * (step % 8), 8 * (step % 8) + 8)
        loss = module.calls["train_step"](tf.constant(x[rows]), tf.constant(y[rows]))["loss"]
        assert float(loss) == pytest.approx(ours[step + 1], rel=1e-4)
    tf.train.Checkpoint(module).write(str(checkpoints / "step-30"))
    (checkpoints / "checkpoint").write_text('model_checkpoint_path: "step-30"\n')
    process = train(job, data__train__shuffle=0, steps=31)
    assert records(process)[1]["event"] == "resume"
    assert "data_begin_anew" in records(process)[1]
    loss = module.calls["loss"](tf.constant(x[:8]), tf.constant(y[:8]))["loss"]
    assert losses(process)[31] == pytest.approx(float(loss), rel=1e-4)


def test_event_files_and_traces(job):
    process = train(job, hooks__summary="{every_steps: 10, histograms: true}",
                    hooks__profiler="{from_step: 5, steps: 2}")
    assert process.returncode == 0, process.stderr
    (path,) = (job.parent / "run" / "events").iterdir()
    tags = {(value.tag, event.step) for event in tf.compat.v1.train.summary_iterator(str(path))
            for value in event.summary.value}
    assert {("loss", 10), ("eval/loss", 20), ("w", 40), ("examples_per_second", 40)} <= tags
    trace = json.loads((job.parent / "run" / "profile" / "steps-5-6.json").read_text())
    names = [event.get("name") for event in trace["traceEvents"]]
    assert names.count("step") == 2 and any("MatMul" in str(name) or "Mul" in str(name)
                                            for name in names)


def test_early_stopping_ends_a_complete_run(job):
    process = train(job, steps=2000, eval__every_steps=5, export__base_path="served",
                    hooks__early_stopping="{patience: 2, min_change: 0.01}")
    events = [each["event"] for each in records(process)]
    assert events[-3:] == ["export", "stop", "end"]
    assert records(process)[-1]["step"] < 2000


def test_plot_draws_terminal_and_svg(job):
    train(job)
    words = [str(binary()), "plot", "run", "--svg", "loss.svg"]
    process = subprocess.run(words, cwd=job.parent, capture_output=True, text=True, check=False)
    assert process.returncode == 0 and "b loss: " in process.stdout
    assert (job.parent / "loss.svg").read_text(encoding="utf-8").startswith("<svg ")
    words = [str(binary()), "plot", str(job.parent)]
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    assert process.returncode == 1 and "is no folder of a run" in process.stderr
    words = [str(binary()), "plot", str(job.parent / "run"), "--curve", "lose"]
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert "did you mean 'loss'?; there are eval/loss, eval/mean_squared_error" in process.stderr
