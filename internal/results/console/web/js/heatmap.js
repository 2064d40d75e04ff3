// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Failures of policies in namespaces.

import { ask, every } from './api.js';
import { count, h } from './dom.js';
import { oneOf } from './filters.js';
import { heading, link, inScope } from './pieces.js';

const failing = 'result == "fail"';
const policies = 24;
const spaces = 40;
/** Shades of cells, of which each has the contrast that its text needs. */
const shades = 5;

/** @param {import('./pieces.js').Context} context */
export async function heatmap(context) {
  const { scope, signal } = context;
  const top = (by, limit) => ask(scope, { filter: failing, groupBy: by, orderBy: 'results', descending: true, limit }, signal);
  const [rows, columns] = await Promise.all([top(['policy'], policies), top(['report.namespace'], spaces)]);
  const title = heading('Heat map', `Failures of policies ${inScope(scope)}`);
  if (!rows.groups.length) return [title, h('p', { class: 'nothing' }, 'No failures.')];
  const names = rows.groups.map((g) => g.by.policy);
  const namespaces = columns.groups.map((g) => g.by['report.namespace']);
  const { groups } = await ask(scope, {
    filter: every([failing, oneOf('policy', names), oneOf('report.namespace', namespaces)]), groupBy: ['policy', 'report.namespace'], limit: policies * spaces,
  }, signal);
  const cells = new Map(groups.map((g) => [JSON.stringify([g.by.policy, g.by['report.namespace']]), g.results]));
  const sorted = [...cells.values()].sort((a, b) => a - b);
  const cell = (policy, namespace) => {
    const n = cells.get(JSON.stringify([policy, namespace])) ?? 0;
    // By rank, as one large number would make all others look alike.
    const shade = n ? Math.ceil((shades * (sorted.lastIndexOf(n) + 1)) / sorted.length) : 0;
    const to = link({ ...context, scope: { namespace, outside: !namespace } }, 'results', { policy, result: 'fail' });
    return h('td', { class: `heat heat-${shade}` }, n ? h('a', { href: to, 'aria-label': `${n} failures of ${policy} ${namespace ? `in ${namespace}` : 'outside of namespaces'}` }, count(n)) : h('span', { class: 'muted' }, '0'));
  };
  const more = [rows.more && `the ${policies} policies`, columns.more && `the ${spaces} namespaces`].filter(Boolean).join(' and ');
  return [
    title,
    more ? h('p', { class: 'note' }, `Shown: ${more} with most failures.`) : null,
    h('div', { class: 'scroll' }, h('table', { class: 'map' }, h('caption', { class: 'unseen' }, 'Failures by policy and namespace'),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Policy'), namespaces.map((n) => h('th', { scope: 'col', class: 'number' }, n || 'outside')), h('th', { scope: 'col', class: 'number' }, 'All'))),
      h('tbody', {}, rows.groups.map((g) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: link(context, 'policy', { policy: g.by.policy }) }, g.by.policy || 'no policy')),
        namespaces.map((n) => cell(g.by.policy, n)), h('td', { class: 'number' }, count(g.results))))))),
  ].filter(Boolean);
}
