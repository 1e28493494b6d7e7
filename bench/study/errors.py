"""Errors that end a study, or one of its measurements, with a message for its reader."""


class StudyError(Exception):
    """A measurement or the study cannot go on; the message says why and what to do."""


class PeerError(StudyError):
    """A peer does not start, or ended while it was measured."""


class RoomError(StudyError):
    """The disk has too little room."""
