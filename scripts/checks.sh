# Functions for scripts that run checks and add up their results. Source this file from the root of
# the repository.
#
#   check 'Unit tests' bazel_tests bazel test //...
#   check 'Clients' python_tests tests/clients
#   total          # prints all counts; fails if a check failed
#
# A check is a command whose output ends with `N passed, N failed, N skipped`, after the reasons
# (tests/counting/counts.py has the form).

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

counting() { PYTHONPATH=tests python3 -m counting "$@"; }

# say TEXT: prints a heading.
say() { printf '\n== %s (%d min since the start)\n' "$*" $((SECONDS / 60)); }

# give_up: ends the script where a check cannot even start.
give_up() { echo '0 passed, 1 failed, 0 skipped'; exit 1; }

# check NAME COMMAND...: runs the command, shows its output, and notes the counts at its end.
check() {
  say "$1"
  "${@:2}" 2>&1 | tee "$logs/output"
  counting command "$1" "${PIPESTATUS[0]}" "$logs/output" >>"$logs/counts"
}

# total: prints which checks failed, and the sum of all counts. Fails if a check did.
total() {
  say 'Result'
  grep ' failed, exit code ' "$logs/counts"
  counting total "$logs/counts"
}

# bazel_tests COMMAND...: a check that runs a `bazel test` command.
bazel_tests() {
  rm -f "$logs/events"
  "$@" --keep_going --build_event_json_file="$logs/events"
  counting bazel "$logs/events"
}

# python_tests ARGUMENTS...: a check that runs pytest.
python_tests() {
  local code=0
  rm -f "$logs/pytest.xml"
  "$(scripts/python_env)" -m pytest -q --junit-xml="$logs/pytest.xml" "$@" || code=$?
  counting report "$logs/pytest.xml" && return "$code"
}
