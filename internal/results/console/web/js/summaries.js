// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// All policies, and all namespaces, with the numbers of their results, which the server counts.

import * as api from './api.js';
import { most, pivot } from './counts.js';
import { count, h } from './dom.js';
import { heading, inScope, link, pager, table } from './pieces.js';
import { outcomes, passRate, severities, severityName } from './terms.js';

const pageSize = 200;
const rate = ({ pass, fail }) => pass / (pass + fail);
const byFailures = (a, b) => b.fail - a.fail || b.total - a.total || (a.name < b.name ? -1 : 1);

/**
 * What a page shows of all rows.
 * @typedef {Object} View
 * @property {string} title
 * @property {(rows: any[]) => any[]} choose
 * @property {(left: any[]) => string} [left] says what was not chosen
 * @property {boolean} [severities] has columns of severities instead of outcomes
 */

/** @type {Record<string, View>} */
const policyViews = {
  '': { title: 'Policies', choose: (rows) => rows.sort(byFailures) },
  share: {
    title: 'What share of the checks does each policy pass?',
    choose: (rows) => {
      const reporting = new Set(rows.filter((r) => r.pass).map((r) => r.source));
      return rows.filter((r) => reporting.has(r.source) && r.pass + r.fail).sort((a, b) => rate(a) - rate(b) || byFailures(a, b));
    },
    left: (left) => {
      const sources = [...new Set(left.filter((r) => r.fail).map((r) => r.source || 'no source'))].sort();
      return sources.length ? `Left out: ${sources.join(', ')}, which report failures only.` : '';
    },
  },
  clean: { title: 'Which policies never fail?', choose: (rows) => rows.filter((r) => !r.fail && !r.error).sort(byFailures) },
};

/** @type {Record<string, View>} */
const namespaceViews = {
  '': { title: 'Namespaces', choose: (rows) => rows.sort(byFailures) },
  severity: { title: 'How severe are the failures of each namespace?', choose: (rows) => rows.filter((r) => r.fail).sort(worstFirst), severities: true },
  clean: { title: 'Which namespaces have no failures?', choose: (rows) => rows.filter((r) => !r.fail).sort(byFailures) },
};

const severe = (row, severity) => row.failBySeverity?.[severityName(severity)] ?? 0;

/** By the most severe failures, then the next ones. */
function worstFirst(a, b) {
  for (const severity of severities) {
    const by = severe(b, severity) - severe(a, severity);
    if (by) return by;
  }
  return byFailures(a, b);
}

/** @param {import('./pieces.js').Context} context */
export async function policies(context) {
  const { items, more } = context.scope.outside ? await outside(context) : await api.summaries('policies', context.scope.namespace, context.signal);
  const name = ({ policy, source }) => h('a', { href: link(context, 'policy', { policy, source }) }, policy || 'no policy');
  return page(context, 'policies', policyViews, items.map((item) => ({ ...item, name: item.policy ?? '', source: item.source ?? '' })), more,
    [{ title: 'Policy', name: true, of: name }, { title: 'Source', of: (r) => r.source }]);
}

/** The policies of reports outside of namespaces, of which the server has no summaries. */
async function outside({ scope, signal }) {
  const answer = await api.ask(scope, { groupBy: ['source', 'policy', 'result'], limit: most }, signal);
  const items = pivot(answer, ['source', 'policy'], 'result').map(({ by, numbers, total }) => (
    { ...by, total, ...Object.fromEntries(outcomes.map((name) => [name, numbers.get(name) ?? 0])) }));
  return { items, more: answer.more };
}

/** @param {import('./pieces.js').Context} context */
export async function namespaces(context) {
  const { items, more } = await api.summaries('namespaces', context.scope.namespace, context.signal);
  const of = (r) => h('a', { href: link({ ...context, scope: { namespace: r.name, outside: false } }, 'overview') }, r.name);
  return page(context, 'namespaces', namespaceViews, items.map((item) => ({ ...item, name: item.metadata.name })), more, [{ title: 'Namespace', name: true, of }]);
}

/** One page of the rows that the view chooses. */
function page(context, name, views, all, more, firsts) {
  const { place: { params } } = context;
  const view = Object.hasOwn(views, params.get('view') ?? '') ? views[params.get('view') ?? ''] : views[''];
  const rows = view.choose([...all]);
  const number = Number(params.get('page')) || 1;
  const shown = rows.slice((number - 1) * pageSize, number * pageSize);
  const columns = [...firsts, ...(view.severities ? bySeverity(rows) : byOutcome)].map((column) => ({ ...column, number: !firsts.includes(column) }));
  const left = view.left?.(all.filter((row) => !rows.includes(row)));
  return [
    heading(view.title, `${count(rows.length)} of ${count(all.length)}${more ? ' or more' : ''} ${inScope(context.scope)}`),
    more ? h('p', { class: 'note' }, `These are of the first ${count(all.length)} ${name} by name. Choose a namespace to see all of it.`) : null,
    left ? h('p', { class: 'note' }, left) : null,
    table(view.title, columns, shown.map((row) => columns.map((column) => column.of(row))), { empty: 'None.' }),
    pager(context, name, number, rows.length > number * pageSize ? { from: null, continue: '' } : null),
  ];
}

const byOutcome = [
  ...outcomes.map((name) => ({ title: name, of: (r) => h('span', { class: r[name] ? `count ${name}` : 'muted' }, count(r[name])) })),
  { title: 'Pass rate', of: (r) => passRate(r.pass, r.fail) },
];

const bySeverity = (rows) => severities.filter((name) => rows.some((r) => severe(r, name))).map((name) => ({ title: severityName(name), of: (r) => count(severe(r, name)) }));
