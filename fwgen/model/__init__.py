"""Readers of compiled models, chosen by the file's content."""

from fwgen.model.model import Model, ModelTensor
from fwgen.model.sniff import load_model

__all__ = ["Model", "ModelTensor", "load_model"]
