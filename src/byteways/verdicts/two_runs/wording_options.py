"""Words of the options of `compare` and `check`, which `--help` shows without loading what compares."""

#: Help of `--fail-if`.
FAIL_IF = "Exit with status 1 if any case is: 'slower > 3%', 'faster > 3%', 'different > 3%', 'failed'."
#: Help of `--least-effect` and of `--strict`.
LEAST_EFFECT = (
    "Loss that a comparison must be able to find; a case with a wider interval is not decided. [default: 20%]"
)
STRICT = "Also exit with status 1 if any case is not decided."
