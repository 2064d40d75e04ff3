// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Everything that is said about one resource, by all sources.

import * as api from './api.js';
import { count, h } from './dom.js';
import { copyable, heading, link, inScope } from './pieces.js';
import { fieldSelector, quoted } from './filters.js';
import { resultTable } from './results.js';
import { worse } from './terms.js';

const most = 1000;

/** @param {import('./pieces.js').Context} context */
export async function resource(context) {
  const { place: { params }, scope, signal } = context;
  const kind = params.get('kind') ?? '';
  const name = params.get('name') ?? '';
  const fields = fieldSelector({ 'subject.kind': kind, 'subject.name': name });
  const page = await api.results({ namespace: scope.namespace, global: scope.outside }, { limit: most, fieldSelector: fields }, signal);
  const items = page.items.sort((a, b) => worse(a, b));
  const sources = [...new Set(items.map((r) => r.source ?? ''))].sort();
  const wrong = items.filter((r) => r.result !== 'pass' && r.result !== 'skip');
  const fine = items.filter((r) => !wrong.includes(r));
  const where = scope.namespace ? ['-n', scope.namespace] : ['-A'];
  const kubectl = [...context.info.kubectl, 'get', scope.outside ? 'clusterpolicyresults' : 'policyresults', ...(scope.outside ? [] : where), '--field-selector', fields];
  return [
    heading(`${kind}/${name}`, `${inScope(scope)} \u00b7 ${count(items.length)}${page.metadata.continue ? ` of many` : ''} results of ${sources.length} ${sources.length === 1 ? 'source' : 'sources'}`),
    page.metadata.continue ? h('p', { class: 'note' }, `Only ${count(most)} results are shown. `, h('a', { href: link(context, 'results', { kind, subject: name, result: 'all' }) }, 'See all of them in pages.')) : null,
    ...sources.map((source) => h('section', {}, h('h2', {}, source || 'no source'),
      resultTable(context, wrong.filter((r) => (r.source ?? '') === source), { caption: `Problems that ${source} found`, empty: 'Nothing is wrong.', one: true }),
      fold(context, fine.filter((r) => (r.source ?? '') === source)))),
    items.length ? null : h('p', { class: 'nothing' }, 'There are no results about this resource.'),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl'), copyable('Copy as kubectl', kubectl.map(quoted).join(' '))),
  ].filter(Boolean);
}

/** What passes or was skipped, which few people look for. */
function fold(context, items) {
  if (!items.length) return null;
  return h('details', { class: 'fine' }, h('summary', {}, `${count(items.length)} that pass or were skipped`), resultTable(context, items, { caption: 'What passes or was skipped', one: true }));
}
