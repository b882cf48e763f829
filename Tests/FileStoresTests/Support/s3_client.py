"""Signatures, key encoding and bucket contents by Amazon's own library.

s3_client.py sign              reads {"time", "key", "secret", "requests": [{"method", "host", "key", "query", "headers", "body"}]}
                               and writes [path, query, signature, signature of an address for 900 seconds] of each
s3_client.py list ENDPOINT KEY SECRET PREFIX    writes the keys in the bucket `files` with this prefix
s3_client.py tags ENDPOINT KEY SECRET OBJECT    writes the tags of an object
"""

import json
import sys

import botocore.session
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.utils import percent_encode


def signature(signer, request, time):
    request.context["timestamp"] = time
    signer._modify_request_before_signing(request)
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)


def signed(entry, time, credentials):
    # Encodes keys and parameters like the library's requests.
    path = "/" + percent_encode(entry["key"], safe="/~")
    query = "&".join(f"{percent_encode(name)}={percent_encode(value)}" for name, value in entry["query"])
    url = f"https://{entry['host']}{path}" + (f"?{query}" if query else "")
    request = AWSRequest(entry["method"], url, dict(entry["headers"]), entry["body"].encode())
    address = AWSRequest("GET", f"https://{entry['host']}{path}")
    return [
        path, query, signature(S3SigV4Auth(credentials, "s3", "us-east-1"), request, time),
        signature(S3SigV4QueryAuth(credentials, "s3", "us-east-1", 900), address, time),
    ]


def client(endpoint, key, secret):
    return botocore.session.get_session().create_client(
        "s3", region_name="us-east-1", endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret,
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))


def found(arguments):
    if arguments[0] == "sign":
        given = json.load(sys.stdin)
        credentials = Credentials(given["key"], given["secret"])
        return [signed(entry, given["time"], credentials) for entry in given["requests"]]
    store = client(*arguments[1:4])
    if arguments[0] == "list":
        pages = store.get_paginator("list_objects_v2").paginate(Bucket="files", Prefix=arguments[4])
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    tags = store.get_object_tagging(Bucket="files", Key=arguments[4])["TagSet"]
    return {tag["Key"]: tag["Value"] for tag in tags}


json.dump(found(sys.argv[1:]), sys.stdout)
