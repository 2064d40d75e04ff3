// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One report, as it is.

import * as api from './api.js';
import { count, h } from './dom.js';
import { copyable, heading } from './pieces.js';
import { fieldSelector, quoted } from './filters.js';
import { resultTable } from './results.js';
import { yaml } from './yaml.js';

/** Results that are shown above the YAML. */
const shown = 100;

/** @param {import('./pieces.js').Context} context */
export async function report(context) {
  const { place: { params }, scope, signal, info } = context;
  const [kind, name] = [params.get('kind') ?? '', params.get('name') ?? ''];
  const known = info.kinds.find((of) => of.kind === kind);
  if (!known) return [h('h1', {}, 'There is no such kind of report')];
  const { group, version, resource: plural } = known;
  const where = scope.namespace ? `namespaces/${encodeURIComponent(scope.namespace)}/` : '';
  const selector = fieldSelector({ 'report.kind': kind, 'report.name': name });
  const results = api.results({ namespace: scope.namespace, global: !scope.namespace }, { limit: shown, fieldSelector: selector }, signal).catch(() => null); // The YAML has them, too.
  const object = await api.get(`/apis/${params.get('version') || `${group}/${version}`}/${where}${plural}/${encodeURIComponent(name)}`, {}, signal);
  delete object.metadata.managedFields;
  const command = [...info.kubectl, 'get', `${plural}.${group}`, name, ...(scope.namespace ? ['-n', scope.namespace] : []), '-o', 'yaml'].map(quoted).join(' ');
  return [
    heading(name, `${kind}${scope.namespace ? ` in namespace ${scope.namespace}` : ''}`),
    ...table(context, await results),
    h('pre', { class: 'yaml', tabindex: '0', 'aria-label': 'The report as YAML' }, yaml(object)),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl'), copyable('Copy as kubectl', command)),
  ];
}

/** The results of the report that are rows of their own. */
function table(context, page) {
  if (!page?.items.length) return [];
  const more = page.metadata.continue ? h('p', { class: 'more' }, `The first ${count(page.items.length)}.`) : null;
  return [resultTable(context, page.items, { caption: 'Results of the report' }), more, h('h2', {}, 'The object')].filter(Boolean);
}
