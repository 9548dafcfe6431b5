#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of a Debian package of ours, in SPDX 2.3 (JSON): its files with checksums, the packages
that it needs at run time as dpkg-shlibdeps has found them, and those of which code was compiled into it.

Usage: scripts/sbom.py PACKAGE.deb SBOM.spdx.json
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path

# Headers and static parts become code of ours when it is compiled.
COMPILED_IN = ["libhwy-dev", "libcli11-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libfmt-dev",
               "libtorch-dev", "libgloo-dev"]


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def files_of(package):
    """Regular files of the package, by name."""
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in sorted(archive.getmembers(), key=lambda m: m.name):
            if member.isfile():
                yield member.name, archive.extractfile(member).read()


def spdx_file(name, content):
    sums = [{"algorithm": algorithm.upper(), "checksumValue": hashlib.new(algorithm, content).hexdigest()}
            for algorithm in ("sha1", "sha256")]
    return {"fileName": name, "SPDXID": identifier("File", name.lstrip("./")), "checksums": sums,
            "licenseConcluded": "Apache-2.0", "copyrightText": "NOASSERTION"}


def installed_version(name):
    try:
        return run("dpkg-query", "-W", "-f=${Version}", name)
    except subprocess.CalledProcessError:
        return ""


def debian_package(name, version):
    described = {"name": name, "SPDXID": identifier("Package", name), "downloadLocation": "NOASSERTION",
                 "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                 "copyrightText": "NOASSERTION", "supplier": "Organization: Debian",
                 "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                   "referenceLocator": f"pkg:deb/debian/{name}" + (f"@{version}" if version else "")}]}
    return described | ({"versionInfo": version} if version else {})


def needed_packages(control):
    """The first of each set of alternatives; what is recommended is not needed."""
    return sorted({re.match(r"[a-z0-9][a-z0-9.+-]*", part.strip()).group() for part in control.split(",") if part.strip()})


def document(package):
    field = lambda name: run("dpkg-deb", "--field", package, name).strip()
    content = Path(package).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    files = [spdx_file(name, data) for name, data in files_of(package)]
    code = hashlib.sha1("".join(sorted(f["checksums"][0]["checksumValue"] for f in files)).encode()).hexdigest()
    name, version = field("Package"), field("Version")
    own = {"name": name, "SPDXID": identifier("Package", name), "versionInfo": version,
           "packageFileName": os.path.basename(package), "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
           "packageVerificationCode": {"packageVerificationCodeValue": code}, "licenseConcluded": "Apache-2.0",
           "licenseDeclared": "Apache-2.0", "licenseInfoFromFiles": ["Apache-2.0"], "copyrightText": "NOASSERTION",
           "supplier": "NOASSERTION", "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    needed, compiled = needed_packages(field("Depends")), [p for p in COMPILED_IN if installed_version(p)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", f["SPDXID"]) for f in files]
    relations += [(own["SPDXID"], "DEPENDS_ON", identifier("Package", p)) for p in needed]
    relations += [(identifier("Package", p), "BUILD_DEPENDENCY_OF", own["SPDXID"]) for p in compiled]
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"{name}-{version}", "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{digest}",
            "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: fibottention-sbom"]},
            "packages": [own] + [debian_package(p, installed_version(p)) for p in sorted({*needed, *compiled})],
            "files": files,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                              for a, kind, b in relations]}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: scripts/sbom.py PACKAGE.deb SBOM.spdx.json")
    text = json.dumps(document(sys.argv[1]), indent=1) + "\n"
    Path(sys.argv[2]).write_text(text)
