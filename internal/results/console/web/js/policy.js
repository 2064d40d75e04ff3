// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One policy: where it fails, which of its rules, and what it says.

import { ask, askBriefly, every, literal } from './api.js';
import { count, folded, h } from './dom.js';
import { heading, link, inScope, table } from './pieces.js';
import { outcomes } from './terms.js';

const most = 1000;
const messages = 20;

/** @param {import('./pieces.js').Context} context */
export async function policy(context) {
  const { place: { params }, scope, signal } = context;
  const name = params.get('policy') ?? '';
  const source = params.get('source') ?? '';
  const filter = every([`policy == ${literal(name)}`, params.has('source') ? `source == ${literal(source)}` : '']);
  const [spaces, rules, said] = await Promise.all([
    ask(scope, { filter, groupBy: ['report.namespace', 'result'], limit: most }, signal),
    ask(scope, { filter, groupBy: ['rule', 'result'], limit: most }, signal),
    askBriefly(scope, { filter: every([filter, 'result == "fail"']), groupBy: ['message'], orderBy: 'results', descending: true, limit: messages }, signal),
  ]);
  const all = pivot(spaces.groups, '');
  const total = all.length ? all[0] : { total: 0, fail: 0, pass: 0 };
  const of = { policy: name, source };
  const inNamespace = (namespace) => link({ ...context, scope: { namespace, outside: !namespace } }, 'results', { ...of, result: 'fail' });
  return [
    heading(name || 'no policy', [source, inScope(scope), share(total) && `${share(total)} pass`].filter(Boolean).join(' \u00b7 ')),
    total.total ? h('p', {}, `${count(total.fail)} of ${count(total.total)} results fail. `, h('a', { href: link(context, 'results', { ...of, result: 'fail' }) }, 'See what fails'),
      total.fail ? [' \u00b7 ', h('a', { href: link(context, 'question', refused(name, filter)) }, 'Which resources would be refused if it were enforced?')] : null) : null,
    h('section', {}, h('h2', {}, 'Namespaces'), countTable('Results by namespace', 'Namespace', pivot(spaces.groups, 'report.namespace'),
      (namespace) => h('a', { href: inNamespace(namespace) }, namespace || 'outside of namespaces'), spaces.more)),
    h('section', {}, h('h2', {}, 'Rules'), countTable('Results by rule', 'Rule', pivot(rules.groups, 'rule'),
      (rule) => h('a', { href: link(context, 'results', { ...of, rule, result: 'fail' }) }, rule || 'no rule'), rules.more)),
    h('section', {}, h('h2', {}, 'What failures say'), said ? messageTable(said) : h('p', { class: 'more' }, 'There are too many failures to count their messages at once. ',
      h('a', { href: link(context, 'question', spoken(name, filter)) }, 'Count them all the same'))),
  ].filter(Boolean);
}

/** @param {import('./api.js').Answer} said */
function messageTable({ groups, more }) {
  return [
    table('Messages of failures', [{ title: 'Failures', number: true }, { title: 'Message', rest: true }],
      groups.map(({ by, results }) => [count(results), folded(by.message || 'no message')]), { empty: 'Nothing fails.' }),
    more ? h('p', { class: 'more' }, `The ${messages} most frequent messages.`) : null,
  ];
}

/** The question for what failures say, which may take long. */
const spoken = (name, filter) => ({
  title: `What failures of ${name || 'no policy'} say`, filter: every([filter, 'result == "fail"']), by: ['message'], order: 'results', desc: '1',
});

/** The question for the resources that fail, which are those that nobody could create or change as they are. */
const refused = (name, filter) => ({
  title: `Refused if ${name || 'the policy'} were enforced`, filter: every([filter, 'result == "fail"']), by: ['subject.kind', 'subject.namespace', 'subject.name'], order: 'results', desc: '1',
});

/**
 * Turns groups by a field and result into one row for each value, the most failures first.
 * @param {{by: Record<string, string>, results: number}[]} groups
 * @param {string} field "" for one row of all
 */
function pivot(groups, field) {
  const rows = new Map();
  for (const { by, results } of groups) {
    const value = field ? by[field] ?? '' : '';
    const row = rows.get(value) ?? { value, total: 0, ...Object.fromEntries(outcomes.map((o) => [o, 0])) };
    row[by.result] = (row[by.result] ?? 0) + results;
    row.total += results;
    rows.set(value, row);
  }
  return [...rows.values()].sort((a, b) => b.fail - a.fail || b.total - a.total);
}

/** The share that passes, of what passes or fails. */
function share({ pass, fail }) {
  return pass + fail ? `${Math.floor((100 * pass) / (pass + fail))} %` : '';
}

function countTable(caption, title, rows, label, more) {
  const columns = [{ title, rest: true }, ...outcomes.map((o) => ({ title: o, number: true })), { title: 'Pass rate', number: true }];
  return [
    table(caption, columns, rows.map((row) => [label(row.value), ...outcomes.map((o) => h('span', { class: row[o] ? `count ${o}` : 'muted' }, count(row[o]))), share(row) || '\u2013']), { empty: 'The policy has no results here.' }),
    more ? h('p', { class: 'more' }, `The first ${count(most)} numbers only.`) : null,
  ];
}
