"""V1 variables that branches and loops update and read; tests/data/record lets TensorFlow run them.

An Identity of such a variable gives its buffer, so that who is ordered behind an update sees it.
"""

import tensorflow as tf

from conformance import graph_cases

v1 = tf.compat.v1


class _Builder:
    """Makes variables, and keeps their initialisers and the results to fetch."""

    def __init__(self):
        self.initializers = []
        self.results = []

    def variable(self, value):
        name = v1.get_default_graph().unique_name("v")
        made = v1.get_variable(name, initializer=value, use_resource=False)
        self.initializers.append(made.initializer)
        return made

    def predicate(self, value):
        """A bool that no pass folds."""
        return self.variable(1.0 if value else -1.0) > 0

    def plan(self):
        return graph_cases.Plan(self.initializers, self.results)


def _behind_branch():
    b = _Builder()
    for taken in (True, False):
        v = b.variable([1.0, 2.0])
        read = tf.identity(v)
        updated = v1.cond(
            b.predicate(taken), lambda v=v: v1.assign_add(v, [1.0, 1.0]), lambda v=v: v.value()
        )
        with tf.control_dependencies([updated]):
            b.results += [v * 10.0, read + 1.0, tf.add(read, tf.reduce_sum(updated))]
    return b.plan()


def _update_in_other_branch():
    """The update runs or does not, and both ways lead to the read."""
    b = _Builder()
    for taken in (True, False):
        v = b.variable(3.0)

        def update(v=v):
            with tf.control_dependencies([v1.assign(v, 7.0)]):
                return tf.constant(1)

        done = v1.cond(b.predicate(taken), update, lambda: tf.constant(0))
        with tf.control_dependencies([done]):
            b.results.append(v + 0.5)
    return b.plan()


def _in_branch():
    b = _Builder()
    for taken in (True, False):
        v = b.variable(1.0)
        read = tf.identity(v)

        def update(v=v, read=read):
            with tf.control_dependencies([v1.assign_add(v, 1.0)]):
                return v * 10.0 + read

        def twice(v=v):
            with tf.control_dependencies([v1.assign_add(v, 5.0)]):
                second = v1.assign(v, v * 2.0)
            with tf.control_dependencies([second]):
                return v - 1.0

        b.results.append(v1.cond(b.predicate(taken), update, twice))
    return b.plan()


def _before_branch():
    b = _Builder()
    for taken in (True, False):
        v = b.variable(1.0)
        read = tf.identity(v)
        with tf.control_dependencies([v1.assign_add(v, 2.0)]):
            predicate = tf.identity(b.predicate(taken))
        b.results.append(v1.cond(predicate, lambda r=read: r * 3.0, lambda r=read: r * 5.0))
    return b.plan()


def _nested_branches():
    b = _Builder()
    for outer in (True, False):
        for inner in (True, False):
            v = b.variable(1.0)

            def deeper(v=v, inner=inner):
                updated = v1.cond(
                    b.predicate(inner), lambda: v1.assign_add(v, 1.0), lambda: v1.assign_sub(v, 4.0)
                )
                with tf.control_dependencies([updated]):
                    return v * 10.0

            b.results.append(v1.cond(b.predicate(outer), deeper, lambda v=v: v * 100.0))
    return b.plan()


def _behind_loop():
    b = _Builder()
    for turns in (0, 3):
        v = b.variable(1.0)
        read = tf.identity(v)

        def body(i, v=v):
            with tf.control_dependencies([v1.assign_add(v, 1.0)]):
                return i + 1

        limit = tf.cast(b.variable(float(turns)), tf.int32)
        count = v1.while_loop(lambda i, n=limit: i < n, body, [0], back_prop=False)
        with tf.control_dependencies([count]):
            b.results += [v * 10.0, read + tf.cast(count, tf.float32)]
    return b.plan()


def _in_loop():
    b = _Builder()
    v = b.variable(1.0)
    read = tf.identity(v)

    def body(i, total, product):
        with tf.control_dependencies([v1.assign_add(v, 1.0)]):
            return i + 1, total + v, product * read

    b.results += v1.while_loop(
        lambda i, *_: i < 4, body, [0, 0.0, 1.0], parallel_iterations=1, back_prop=False
    )
    return b.plan()


def _in_condition():
    """The condition of a loop reads what its body updates."""
    b = _Builder()
    v = b.variable(1.0)

    def condition(i, last):
        with tf.control_dependencies([last]):
            return tf.identity(v) < 6.0

    def body(i, last):
        with tf.control_dependencies([i]):
            return i + 1, v1.assign_add(v, 1.5)

    b.results += v1.while_loop(condition, body, [0, 0.0], parallel_iterations=1, back_prop=False)
    return b.plan()


def _branch_in_loop():
    b = _Builder()
    v = b.variable(1.0)

    def body(i, total):
        def update():
            with tf.control_dependencies([v1.assign_add(v, 1.0)]):
                return v * 10.0

        value = v1.cond(tf.equal(i % 2, 0), update, lambda: tf.constant(0.0))
        with tf.control_dependencies([value]):
            return i + 1, total + value + v

    b.results += v1.while_loop(
        lambda i, _: i < 5, body, [0, 0.0], parallel_iterations=1, back_prop=False
    )
    return b.plan()


def _loop_in_branch():
    b = _Builder()
    for taken in (True, False):
        v = b.variable(1.0)

        def count(v=v):
            def body(i, total):
                with tf.control_dependencies([v1.assign_add(v, 1.0)]):
                    return i + 1, total + v

            return v1.while_loop(
                lambda i, _: i < 3, body, [0, 0.0], parallel_iterations=1, back_prop=False
            )[1]

        total = v1.cond(b.predicate(taken), count, lambda: tf.constant(-1.0))
        with tf.control_dependencies([total]):
            b.results += [total, v * 1.0]
    return b.plan()


def _nested_loops():
    b = _Builder()
    v = b.variable(1.0)

    def outer(i, total):
        def inner(j, sum_):
            with tf.control_dependencies([v1.assign_add(v, 1.0)]):
                return j + 1, sum_ + v

        _, inside = v1.while_loop(
            lambda j, _: j < 2, inner, [0, 0.0], parallel_iterations=1, back_prop=False
        )
        with tf.control_dependencies([inside]):
            return i + 1, total + inside + v * 100.0

    b.results += v1.while_loop(
        lambda i, _: i < 3, outer, [0, 0.0], parallel_iterations=1, back_prop=False
    )
    return b.plan()


def _with_v1_control_flow(build):
    def built():
        v1.disable_control_flow_v2()
        try:
            return build()
        finally:
            v1.enable_control_flow_v2()

    return built


def cases():
    """All cases by name."""
    builders = {
        "behind_branch": _behind_branch,
        "update_in_other_branch": _update_in_other_branch,
        "in_branch": _in_branch,
        "before_branch": _before_branch,
        "nested_branches": _nested_branches,
        "behind_loop": _behind_loop,
        "in_loop": _in_loop,
        "in_condition": _in_condition,
        "branch_in_loop": _branch_in_loop,
        "loop_in_branch": _loop_in_branch,
        "nested_loops": _nested_loops,
    }
    return {f"reference_{name}": _with_v1_control_flow(build) for name, build in builders.items()}
