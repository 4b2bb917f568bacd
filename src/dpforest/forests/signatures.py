"""Detached signatures of model files: Ed25519 over the bytes of the file.

Keys are PEM files as openssl writes them, a signature is 64 plain bytes: ``openssl pkeyutl -verify
-pubin -inkey public.pem -rawin -in MODEL -sigfile MODEL.sig`` says the same as `verify_file`.
Needs the ``cryptography`` package: ``pip install 'dpforest[sign]'``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpforest.exceptions import ModelFileError

HOW_TO_MAKE = "openssl genpkey -algorithm ed25519 -out key.pem"
HOW_TO_PUBLISH = "openssl pkey -in key.pem -pubout -out public.pem"


def signature_of(path: Path) -> Path:
    """Where the signature of a file is by custom: beside it, with ``.sig`` added to its name."""
    return path.with_name(path.name + ".sig")


def sign_file(
    path: str | Path, key: str | Path, signature: str | Path, *, overwrite: bool = False
) -> None:
    """Sign a file with a private key and write the signature; FileExistsError when there is one.

    Parameters
    ----------
    path : str or Path
        What is signed.
    key : str or Path
        The PEM file of an Ed25519 private key, without a password.
    signature : str or Path
        Where to write.
    overwrite : bool, default=False
        Replace a signature that is there.
    """
    from_pem = _serialization().load_pem_private_key
    private = _load(key, lambda pem: from_pem(pem, password=None), "private", HOW_TO_MAKE)
    signed = private.sign(Path(path).read_bytes())
    try:
        with Path(signature).open("wb" if overwrite else "xb") as file:
            file.write(signed)
    except FileExistsError:
        raise FileExistsError(f"{signature} exists: remove it, or name another file") from None


def verify_file(path: str | Path, key: str | Path, signature: str | Path) -> None:
    """Check the signature of a file with a public key; ModelFileError when it does not fit.

    Parameters
    ----------
    path : str or Path
        What was signed.
    key : str or Path
        The PEM file of an Ed25519 public key.
    signature : str or Path
        What `sign_file` wrote.
    """
    public = _load(key, _serialization().load_pem_public_key, "public", HOW_TO_PUBLISH)
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(Path(signature).read_bytes(), Path(path).read_bytes())
    except InvalidSignature:
        raise ModelFileError(
            f"{signature} is no signature of {path} by {key}: the file was changed, or another "
            "key signed it; fetch both again from whom you trust"
        ) from None


def _load(path: str | Path, from_pem: Any, kind: str, remedy: str) -> Any:
    """Read a key; ValueError that says which was expected and how to get one."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ed25519

    kinds = {"private": ed25519.Ed25519PrivateKey, "public": ed25519.Ed25519PublicKey}
    pem = Path(path).read_bytes()
    try:
        key = from_pem(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, kinds[kind]):
        raise ValueError(
            f"{path} is not the PEM file of an Ed25519 {kind} key without a password; "
            f"make one with '{remedy}'"
        )
    return key


def _serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise ImportError(
            "signatures need the cryptography package: pip install 'dpforest[sign]'"
        ) from error
    return serialization
