"""The environment of processes that tests start."""

import os


def without_settings() -> dict[str, str]:
    """Without variables of minidynamo's, but with this run's folder for artifacts."""
    kept = "MINIDYNAMO_ARTIFACT_FOLDER"
    return {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO") or name == kept}
