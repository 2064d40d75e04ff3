// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What programs that use the Kubernetes client for Node.js do with reports.
//
//   reports.js operate NAMESPACE FILE  does with each object of the file what the clients
//                                      offer, and prints what it sees, one line a step.
//   reports.js follow FILE RESOURCE    keeps the resource versions of all objects in the file, by
//                                      namespace and name, until it is ended.
//   reports.js version                 prints the version of the client.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as k8s from '@kubernetes/client-node';

const groups = {
  policyreports: ['wgpolicyk8s.io', 'v1alpha2'],
  clusterpolicyreports: ['wgpolicyk8s.io', 'v1alpha2'],
  reports: ['openreports.io', 'v1alpha1'],
  clusterreports: ['openreports.io', 'v1alpha1'],
  ephemeralreports: ['reports.kyverno.io', 'v1'],
  clusterephemeralreports: ['reports.kyverno.io', 'v1'],
};

const config = new k8s.KubeConfig();
config.loadFromDefault();
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);

// seen is an object without what differs from server to server.
function seen(object) {
  object = JSON.parse(JSON.stringify(object));
  for (const item of object.items ?? [object]) {
    for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields']) delete item.metadata?.[field];
  }
  if (object.items) {
    delete object.metadata?.resourceVersion;
    if (object.metadata?.continue === '') delete object.metadata.continue; // There is no next page, said or not.
  }
  delete object.details?.uid;
  return object;
}

async function step(title, name, call) {
  let got;
  try {
    got = seen(await call());
  } catch (error) {
    if (!(error instanceof k8s.ApiException)) throw error;
    const status = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
    delete status.details?.uid;
    got = [error.code, status.reason, status.message, status.details];
  }
  console.log(title, name, JSON.stringify(got, sorted));
}

// sorted makes JSON.stringify write fields by name.
function sorted(_, value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function labelled(object, value) {
  object = structuredClone(object);
  object.metadata.labels = { ...object.metadata.labels, step: value };
  return object;
}

// customObjects uses the client that has no schema.
async function customObjects(object, namespace, plural) {
  const [group, version] = groups[plural];
  const where = { group, version, plural, ...(namespace && { namespace }) };
  const scope = namespace ? 'Namespaced' : 'Cluster';
  const call = (verb, more) => custom[`${verb}${scope}CustomObject`]({ ...where, ...more });
  const name = object.metadata.name;
  const title = `custom objects ${plural}`;
  const patch = [{ op: 'add', path: '/metadata/labels/step', value: '1' }];
  await step(title, 'create', () => call('create', { body: object }));
  await step(title, 'create again', () => call('create', { body: object }));
  await step(title, 'list', () => call('list', { limit: 500 }));
  await step(title, 'patch', () => call('patch', { name, body: patch }));
  const current = await call('get', { name });
  await step(title, 'replace', () => call('replace', { name, body: labelled(current, '2') }));
  await step(title, 'replace what is stale', () => call('replace', { name, body: labelled(current, '3') }));
  await step(title, 'delete', () => call('delete', { name }));
  await step(title, 'get what is gone', () => call('get', { name }));
}

// anyObjects uses the client that asks discovery.
async function anyObjects(object, namespace, plural) {
  const title = `objects ${plural}`;
  object = structuredClone(object);
  if (namespace) object.metadata.namespace = namespace;
  await step(title, 'create', () => objects.create(object));
  await step(title, 'read', () => objects.read(object));
  await step(title, 'list', () => objects.list(object.apiVersion, object.kind, namespace, undefined, undefined, undefined, undefined, 'example.com/program=node'));
  await step(title, 'merge patch', () => objects.patch(labelled(object, '1'), undefined, undefined, 'node', undefined, k8s.PatchStrategy.MergePatch));
  await step(title, 'apply', () => objects.patch(labelled(object, '2'), undefined, undefined, 'node', true, k8s.PatchStrategy.ServerSideApply));
  await step(title, 'delete', () => objects.delete(object));
  await step(title, 'read what is gone', () => objects.read(object));
}

async function operate(namespace, file) {
  for (const { object, plural, namespaced } of JSON.parse(readFileSync(file, 'utf8'))) {
    await customObjects(object, namespaced ? namespace : undefined, plural);
    await anyObjects(object, namespaced ? namespace : undefined, plural);
  }
}

// follow has an informer, which it starts again when it ends, as its documentation says.
async function follow(file, plural) {
  const [group, version] = groups[plural];
  const list = () => custom.listCustomObjectForAllNamespaces({ group, version, plural });
  const informer = k8s.makeInformer(config, `/apis/${group}/${version}/${plural}`, list);
  const save = () => {
    const versions = informer.list().map(({ metadata }) => [`${metadata.namespace ?? ''}/${metadata.name}`, metadata.resourceVersion]);
    writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(versions)));
    renameSync(`${file}.new`, file);
  };
  for (const change of ['add', 'update', 'delete']) informer.on(change, save);
  const start = () => informer.start().catch(again);
  const again = (error) => {
    console.log(String(error));
    setTimeout(start, 500);
  };
  informer.on('error', again);
  await start();
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === 'version') console.log(JSON.parse(readFileSync(new URL('package.json', import.meta.url))).dependencies['@kubernetes/client-node']);
else await { operate, follow }[mode](...rest);
