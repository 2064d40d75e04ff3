// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Everything that is said about one resource, by all sources.

import { ask, every, literal } from './api.js';
import { count, h } from './dom.js';
import { fieldSelector, filtersOf, quoted } from './filters.js';
import { pageOf } from './lists.js';
import { unknownTexts } from './missing.js';
import { copyable, heading, link, inScope, tiles } from './pieces.js';
import { resultTable } from './results.js';
import { worse } from './terms.js';

const most = 1000;

/** @param {import('./pieces.js').Context} context */
export async function resource(context) {
  const { place: { params }, scope, signal } = context;
  const kind = params.get('kind') ?? '';
  const name = params.get('name') ?? '';
  const of = { kind, subject: name, result: 'all' };
  const about = (values) => link(context, 'resource', { kind, name, ...values });
  const filter = every([`subject.kind == ${literal(kind)}`, `subject.name == ${literal(name)}`]);
  const { groups } = await ask(scope, { filter, groupBy: ['source', 'result', 'severity'], limit: most }, signal);
  const filters = filtersOf(new URLSearchParams(of));
  const title = `${kind}/${name}`;
  if (!groups.length) {
    const missing = await unknownTexts(context, filters, ({ kind: other, subject }) => about(other ? { kind: other } : { name: subject }));
    return [heading(title, inScope(scope)), ...(missing.length ? missing : [h('p', { class: 'nothing' }, 'There are no results about this resource.')])];
  }
  const { items, next } = await pageOf(context, filters, [...new Map(groups.map(({ by }) => [JSON.stringify([by.result, by.severity]), by])).values()], { from: null, continue: '' }, most);
  const sources = [...new Set(groups.map(({ by }) => by.source ?? ''))].sort();
  const total = groups.reduce((sum, g) => sum + g.results, 0);
  return [
    heading(title, h('a', { href: link(context, 'overview') }, inScope(scope)), ` \u00b7 ${count(total)} ${total === 1 ? 'result' : 'results'} of ${sources.length} ${sources.length === 1 ? 'source' : 'sources'}`),
    tiles(groups, (result) => link(context, 'results', { ...of, result })),
    next ? h('p', { class: 'note' }, `These are the worst ${count(items.length)}. `, h('a', { href: link(context, 'results', of) }, 'See all of them in pages.')) : null,
    ...sources.map((source) => section(context, source, items.filter((r) => (r.source ?? '') === source))),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl'), copyable('Copy as kubectl', command(context, kind, name))),
  ].filter(Boolean);
}

/** What one source says. Some report each time that something happens: what they say by the same rule is one row. */
function section(context, source, items) {
  const rows = new Map();
  for (const r of [...items].sort((a, b) => worse(a, b) || Date.parse(b.timestamp ?? 0) - Date.parse(a.timestamp ?? 0))) {
    const key = JSON.stringify([r.policy, r.rule, r.result, r.severity]);
    const first = rows.get(key);
    if (first) first.others.push(r);
    else rows.set(key, { ...r, others: [] });
  }
  const all = [...rows.values()];
  const fine = all.filter((r) => r.result === 'pass' || r.result === 'skip');
  return h('section', {}, h('h2', {}, source || 'no source'),
    resultTable(context, all.filter((r) => !fine.includes(r)), { caption: `Problems that ${source} found`, empty: 'Nothing is wrong.', one: true }), fold(context, fine));
}

function command({ scope, info }, kind, name) {
  const what = scope.outside ? ['clusterpolicyresults'] : ['policyresults', ...(scope.namespace ? ['-n', scope.namespace] : ['-A'])];
  return [...info.kubectl, 'get', ...what, '--field-selector', fieldSelector({ 'subject.kind': kind, 'subject.name': name })].map(quoted).join(' ');
}

/** What passes or was skipped, which few people look for. */
function fold(context, items) {
  if (!items.length) return null;
  return h('details', { class: 'fine' }, h('summary', {}, `${count(items.reduce((sum, r) => sum + 1 + r.others.length, 0))} passed or skipped`), resultTable(context, items, { caption: 'What passes or was skipped', one: true }));
}
