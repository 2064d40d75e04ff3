// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One report, as it is.

import { get } from './api.js';
import { h } from './dom.js';
import { copyable, heading } from './pieces.js';
import { quoted } from './filters.js';
import { yaml } from './yaml.js';

const resources = {
  PolicyReport: 'wgpolicyk8s.io/v1alpha2/policyreports', ClusterPolicyReport: 'wgpolicyk8s.io/v1alpha2/clusterpolicyreports',
  Report: 'openreports.io/v1alpha1/reports', ClusterReport: 'openreports.io/v1alpha1/clusterreports',
};

/** @param {import('./pieces.js').Context} context */
export async function report({ place: { params }, scope, signal, info }) {
  const [kind, name] = [params.get('kind') ?? '', params.get('name') ?? ''];
  if (!Object.hasOwn(resources, kind)) return [h('h1', {}, 'There is no such kind of report')];
  const [group, version, plural] = resources[kind].split('/');
  const where = scope.namespace ? `namespaces/${encodeURIComponent(scope.namespace)}/` : '';
  const object = await get(`/apis/${params.get('version') || `${group}/${version}`}/${where}${plural}/${encodeURIComponent(name)}`, {}, signal);
  delete object.metadata.managedFields;
  const command = [...info.kubectl, 'get', `${plural}.${group}`, name, ...(scope.namespace ? ['-n', scope.namespace] : []), '-o', 'yaml'].map(quoted).join(' ');
  return [
    heading(name, `${kind}${scope.namespace ? ` in namespace ${scope.namespace}` : ''}`),
    h('pre', { class: 'yaml', tabindex: '0', 'aria-label': 'The report as YAML' }, yaml(object)),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl'), copyable('Copy as kubectl', command)),
  ];
}
