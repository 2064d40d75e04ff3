// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Failures of policies in namespaces; in one namespace, by severity.

import { ask, every } from './api.js';
import { most } from './counts.js';
import { count, h } from './dom.js';
import { oneOf } from './filters.js';
import { heading, link, inScope } from './pieces.js';
import { severities, severityBadge, severityName } from './terms.js';

const failing = 'result == "fail"';
const policies = 24;
const spaces = 40;
/** The numbers at which shades begin. They are the same on each page; each shade has the contrast that its text needs. */
const shades = [1, 10, 30, 100, 1000];

/** @typedef {{field: string, values: string[], more: boolean, head: (value: string) => any, params: (value: string) => Record<string, string>}} Columns */

/** @param {import('./pieces.js').Context} context */
export async function heatmap(context) {
  const { scope, signal } = context;
  const top = (by, limit) => ask(scope, { filter: failing, groupBy: by, orderBy: 'results', descending: true, limit }, signal);
  const [rows, columns] = await Promise.all([top(['policy', 'source'], policies), scope.namespace || scope.outside ? bySeverity : byNamespace(context, top)]);
  const title = heading('Heat map', `Failures of policies ${inScope(scope)}`);
  if (!rows.groups.length) return [title, h('p', { class: 'nothing' }, 'No failures.')];
  const cells = await numbers(context, rows.groups.map((g) => g.by.policy), columns);
  const cell = ({ policy, source }, value) => {
    const n = cells.get(JSON.stringify([policy, source, value])) ?? 0;
    const to = link(context, 'results', { policy, source, result: 'fail', ...columns.params(value) });
    const where = value || (columns.field === 'severity' ? 'no severity' : 'cluster-scoped reports');
    return h('td', { class: `heat heat-${shades.filter((from) => n >= from).length}` }, n ? h('a', { href: to, 'aria-label': `${n} failures of ${policy}, ${where}` }, count(n)) : h('span', { class: 'muted' }, '0'));
  };
  const more = [rows.more && `the ${policies} policies`, columns.more && `the ${spaces} namespaces`].filter(Boolean).join(' and ');
  return [
    title,
    more ? h('p', { class: 'note' }, `Shown: ${more} with most failures.`) : null,
    h('p', { class: 'note legend' }, 'Failures: ', shades.map((from, i) => h('span', { class: `heat-${i + 1}` }, i + 1 < shades.length ? `${count(from)}\u2013${count(shades[i + 1] - 1)}` : `${count(from)} or more`))),
    h('div', { class: 'scroll' }, h('table', { class: 'map' }, h('caption', { class: 'unseen' }, `Failures by policy and ${columns.field === 'severity' ? 'severity' : 'namespace'}, the most first`),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Policy'), columns.values.map((value) => h('th', { scope: 'col', class: 'number' }, columns.head(value))), h('th', { scope: 'col', class: 'number' }, 'All \u25be'))),
      h('tbody', {}, rows.groups.map(({ by, results }) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: link(context, 'policy', { policy: by.policy, source: by.source }) }, by.policy || 'no policy')),
        columns.values.map((value) => cell(by, value)), h('td', { class: 'number' }, count(results))))))),
  ].filter(Boolean);
}

/** @type {Columns} */
const bySeverity = { field: 'severity', values: severities, more: false, head: severityBadge, params: (value) => ({ severity: severityName(value) }) };

/** @returns {Promise<Columns>} the namespaces with most failures */
async function byNamespace(context, top) {
  const { groups, more } = await top(['report.namespace'], spaces);
  const params = (namespace) => (namespace ? { namespace } : { outside: '1' });
  const head = (namespace) => h('a', { href: link(context, 'overview', params(namespace)) }, namespace || 'cluster-scoped');
  return { field: 'report.namespace', values: groups.map((g) => g.by['report.namespace']), more, head, params };
}

/** The number of failures by policy, source and value of the columns. An answer that is cut is asked for in halves. */
async function numbers(context, names, columns) {
  const { field, values } = columns;
  const answer = await ask(context.scope, { filter: every([failing, oneOf('policy', names), oneOf(field, values)]), groupBy: ['policy', 'source', field], limit: most }, context.signal);
  if (answer.more && values.length > 1) {
    const half = Math.ceil(values.length / 2);
    const parts = await Promise.all([values.slice(0, half), values.slice(half)].map((part) => numbers(context, names, { ...columns, values: part })));
    return new Map(parts.flatMap((part) => [...part]));
  }
  return new Map(answer.groups.map(({ by, results }) => [JSON.stringify([by.policy, by.source, by[field] ?? '']), results]));
}
