#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client without stubs: asks HOST:PORT for its health and, by reflection alone, for its services and its sweeps.

Prints one line per finding; exits 1 when something is missing. Only the wire format of the two standard services is
written down here; every message of stepcurve is built from the descriptors that the server hands out."""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def field(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


def walk(data):
    """Length-delimited and varint fields of a message, as (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            yield tag >> 3, data[at : at + size]
            at += size
        elif tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            raise ValueError(f"wire type {tag & 7}")


def main():
    channel = grpc.insecure_channel(sys.argv[1])
    health = channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10)
    if dict(walk(health)).get(1) != 1:
        sys.exit("health: not SERVING")
    print("health: SERVING")

    ask = channel.stream_stream(REFLECTION)
    services = []
    for answer in ask(iter([field(7, b"*")]), timeout=10):
        for number, value in walk(answer):
            if number == 6:  # list_services_response
                services += [dict(walk(service))[1].decode() for _, service in walk(value)]
    print("services:", ", ".join(services))
    for name in ("SweepService", "CurveService", "WorkerService"):
        if f"stepcurve.v1.{name}" not in services:
            sys.exit(f"reflection: no stepcurve.v1.{name}")

    pool = descriptor_pool.DescriptorPool()
    files = {}

    def fetch(request):
        for answer in ask(iter([request]), timeout=10):
            for number, value in walk(answer):
                if number == 4:  # file_descriptor_response
                    for _, data in walk(value):
                        proto = descriptor_pb2.FileDescriptorProto.FromString(data)
                        files[proto.name] = proto

    fetch(field(4, b"stepcurve.v1.SweepService"))
    while missing := {d for f in files.values() for d in f.dependency} - files.keys():
        fetch(field(3, missing.pop().encode()))
    added = set()

    def add(name):
        if name not in added:
            added.add(name)
            for dependency in files[name].dependency:
                add(dependency)
            pool.Add(files[name])

    for name in files:
        add(name)
    factory = message_factory.MessageFactory(pool)
    method = pool.FindServiceByName("stepcurve.v1.SweepService").FindMethodByName("ListSweeps")
    request = factory.GetPrototype(method.input_type)()
    response = factory.GetPrototype(method.output_type)
    answer = channel.unary_unary(
        "/stepcurve.v1.SweepService/ListSweeps",
        request_serializer=lambda m: m.SerializeToString(),
        response_deserializer=response.FromString,
    )(request, timeout=10)
    print("sweeps by reflection:", [s["name"] for s in json_format.MessageToDict(answer).get("sweeps", [])])
    if not answer.sweeps:
        sys.exit("reflection: ListSweeps lists nothing")


main()
