"""Readers of compiled models, chosen by the file's content."""

from fwgen.model.model import Model, ModelTensor
from fwgen.model.sniff import ModelFile, load_model, open_model

__all__ = ["Model", "ModelFile", "ModelTensor", "load_model", "open_model"]
