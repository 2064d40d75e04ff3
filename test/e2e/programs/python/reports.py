#!/usr/bin/env python3
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
"""What programs that use the Kubernetes client for Python do with reports.

reports.py operate NAMESPACE FILE  does with each object of the file what both clients offer,
                                   and prints what it sees, one line a step.
reports.py follow FILE RESOURCE    keeps the resource versions of all objects in the file, by
                                   namespace and name, until it is ended.
reports.py version                 prints the version of the client.
"""

import json
import os
import sys
import time

import kubernetes
import urllib3
from kubernetes import client, config, dynamic, watch

GROUPS = {
    "policyreports": ("wgpolicyk8s.io", "v1alpha2"),
    "clusterpolicyreports": ("wgpolicyk8s.io", "v1alpha2"),
    "reports": ("openreports.io", "v1alpha1"),
    "clusterreports": ("openreports.io", "v1alpha1"),
    "ephemeralreports": ("reports.kyverno.io", "v1"),
    "clusterephemeralreports": ("reports.kyverno.io", "v1"),
}


def seen(obj):
    """An object without what differs from server to server."""
    obj = json.loads(json.dumps(obj.to_dict() if hasattr(obj, "to_dict") else obj, default=str))
    for item in obj.get("items", [obj]):
        for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            item.get("metadata", {}).pop(field, None)
    if "items" in obj:
        obj.get("metadata", {}).pop("resourceVersion", None)
        if obj.get("metadata", {}).get("continue") == "":  # There is no next page, said or not.
            del obj["metadata"]["continue"]
    if isinstance(obj.get("details"), dict):
        obj["details"].pop("uid", None)
    return obj


class Steps:
    """Prints what steps give."""

    def __init__(self, title):
        self.title = title

    def step(self, name, call, /, *args, **kwargs):
        try:
            got = seen(call(*args, **kwargs))
        except client.exceptions.ApiException as e:
            body = e.body.decode() if isinstance(e.body, bytes) else e.body
            status = json.loads(body)
            got = [e.status, status.get("reason"), status.get("message"), status.get("details")]
            if isinstance(got[3], dict):
                got[3].pop("uid", None)
        print(self.title, name, json.dumps(got, sort_keys=True), flush=True)


def labelled(obj, value):
    obj = json.loads(json.dumps(obj))
    obj["metadata"].setdefault("labels", {})["step"] = value
    return obj


def watched(call, version, count, *args, **kwargs):
    """The first events since a resource version."""
    events = []
    watcher = watch.Watch()
    for event in watcher.stream(call, *args, resource_version=version, timeout_seconds=30, **kwargs):
        events.append([event["type"], event["object"]["metadata"]["name"]])
        if len(events) == count:
            watcher.stop()
    return {"events": events}


def custom_objects(api, obj, namespace, plural):
    group, version = GROUPS[plural]
    where = [group, version] + ([namespace] if namespace else []) + [plural]
    name = obj["metadata"]["name"]
    scope = "namespaced" if namespace else "cluster"

    def call(verb):
        return getattr(api, verb + "_" + scope + "_custom_object")

    s = Steps("custom objects " + plural)
    begin = call("list")(*where)["metadata"]["resourceVersion"]
    s.step("create", call("create"), *where, obj)
    s.step("create again", call("create"), *where, obj)
    s.step("get", call("get"), *where, name)
    s.step("list", call("list"), *where, limit=500)
    s.step("patch", call("patch"), *where, name, {"metadata": {"labels": {"step": "1"}}})
    s.step("list by label", call("list"), *where, label_selector="step=1")
    current = call("get")(*where, name)
    s.step("replace", call("replace"), *where, name, labelled(current, "2"))
    s.step("replace what is stale", call("replace"), *where, name, labelled(current, "3"))
    s.step("delete", call("delete"), *where, name)
    s.step("get what is gone", call("get"), *where, name)
    s.step("watch", watched, call("list"), begin, 4, *where)


def dynamic_client(api, obj, namespace, plural):
    s = Steps("dynamic client " + plural)
    resource = api.resources.get(api_version=obj["apiVersion"], kind=obj["kind"])
    name, where = obj["metadata"]["name"], {"namespace": namespace} if namespace else {}
    s.step("create", resource.create, body=obj, **where)
    s.step("patch", resource.patch, name=name, body={"metadata": {"labels": {"step": "1"}}},
           content_type="application/merge-patch+json", **where)
    current = resource.get(name=name, **where).to_dict()
    s.step("replace", resource.replace, body=labelled(current, "2"), **where)
    s.step("replace what is stale", resource.replace, body=labelled(current, "3"), **where)
    s.step("list", resource.get, label_selector="step=2", **where)
    s.step("delete", resource.delete, name=name, **where)
    s.step("get what is gone", resource.get, name=name, **where)


def operate(namespace, file):
    with open(file, encoding="utf-8") as f:
        objects = json.load(f)
    custom = client.CustomObjectsApi()
    dyn = dynamic.DynamicClient(client.ApiClient())
    for item in objects:
        where = namespace if item["namespaced"] else None
        custom_objects(custom, item["object"], where, item["plural"])
        dynamic_client(dyn, item["object"], where, item["plural"])


class Followed:
    """The resource versions of objects, which a file has, too."""

    def __init__(self, file):
        self.file = file
        self.versions = {}

    def fill(self, items):
        self.versions = {}
        for item in items:
            self.set(item["metadata"])
        self.save()

    def set(self, meta):
        self.versions[meta.get("namespace", "") + "/" + meta["name"]] = meta["resourceVersion"]

    def change(self, kind, meta):
        if kind == "DELETED":
            del self.versions[meta.get("namespace", "") + "/" + meta["name"]]
        elif kind != "BOOKMARK":
            self.set(meta)
        self.save()

    def save(self):
        with open(self.file + ".new", "w", encoding="utf-8") as f:
            json.dump(self.versions, f)
        os.replace(self.file + ".new", self.file)


def follow(file, plural):
    """A list, and watches from there: another list only when the server says that it has to be."""
    api = client.CustomObjectsApi()
    followed = Followed(file)
    group, version = GROUPS[plural]
    at = None
    while True:
        try:
            if at is None:
                found = api.list_cluster_custom_object(group, version, plural)
                followed.fill(found["items"])
                at = found["metadata"]["resourceVersion"]
            for event in watch.Watch().stream(api.list_cluster_custom_object, group, version, plural,
                                              resource_version=at, allow_watch_bookmarks=True, timeout_seconds=60):
                meta = event["raw_object"]["metadata"]
                followed.change(event["type"], meta)
                at = meta["resourceVersion"]
        except client.exceptions.ApiException as e:
            print(e.status, e.reason, flush=True)
            if e.status == 410:
                at = None
        except urllib3.exceptions.HTTPError as e:
            print(e, flush=True)
        time.sleep(0.5)


if sys.argv[1] == "version":
    print(kubernetes.__version__)
    sys.exit()
config.load_kube_config()
{"operate": operate, "follow": follow}[sys.argv[1]](*sys.argv[2:])
