"""What is raised if a stored fleet cannot be used."""

from pocketkernel.model_file import ModelFileError


class FleetStoreError(ModelFileError):
    """A stored fleet that cannot be read or does not match; the message says why."""
