// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One policy: where it fails, which of its rules, and what it says.

import { ask, askBriefly, every, literal } from './api.js';
import { countsBy } from './counts.js';
import { count, folded, h } from './dom.js';
import { unknown } from './missing.js';
import { heading, link, inScope, table } from './pieces.js';
import { outcomes, passRate, severityBadge } from './terms.js';

const messages = 20;
/** Combinations of source, severity and category that are shown; nearly all policies have one. */
const kinds = 20;

/** @param {import('./pieces.js').Context} context */
export async function policy(context) {
  const { place: { params }, scope, signal } = context;
  const name = params.get('policy') ?? '';
  const source = params.get('source') ?? '';
  const filter = every([`policy == ${literal(name)}`, params.has('source') ? `source == ${literal(source)}` : '']);
  const [all, about, spaces, rules, said] = await Promise.all([
    ask(scope, { filter, groupBy: ['result'] }, signal), ask(scope, { filter, groupBy: ['source', 'severity', 'category'], orderBy: 'results', descending: true, limit: kinds }, signal),
    countsBy(scope, filter, 'report.namespace', signal), countsBy(scope, filter, 'rule', signal),
    askBriefly(scope, { filter: every([filter, 'result == "fail"']), groupBy: ['message'], orderBy: 'results', descending: true, limit: messages }, signal),
  ]);
  if (!all.groups.length) return nothing(context, name, source);
  const numbers = new Map(all.groups.map((g) => [g.by.result, g.results]));
  const [fail, total] = [numbers.get('fail') ?? 0, all.groups.reduce((sum, g) => sum + g.results, 0)];
  const of = { policy: name, source };
  const inNamespace = (namespace) => link({ ...context, scope: { namespace, outside: !namespace } }, 'results', { ...of, result: 'fail' });
  return [
    heading(name || 'no policy', [inScope(scope), `${share(numbers)} pass`].join(' \u00b7 ')),
    facts(context, name, about),
    h('p', {}, `${count(fail)} of ${count(total)} results fail. `, h('a', { href: link(context, 'results', { ...of, result: 'fail' }) }, 'See what fails'),
      fail ? [' \u00b7 ', h('a', { href: link(context, 'question', refused(name, filter)) }, 'Which resources would be refused if it were enforced?')] : null),
    h('section', {}, h('h2', {}, 'Namespaces'), countTable('Results by namespace', 'Namespace', 'report.namespace', spaces,
      (namespace) => h('a', { href: inNamespace(namespace) }, namespace || 'cluster-scoped'))),
    h('section', {}, h('h2', {}, 'Rules'), countTable('Results by rule', 'Rule', 'rule', rules,
      (rule) => h('a', { href: link(context, 'results', { ...of, rule, result: 'fail' }) }, rule || 'no rule'))),
    h('section', {}, h('h2', {}, 'Failure messages'), said ? messageTable(said) : h('p', { class: 'more' }, 'There are too many failures to count their messages at once. ',
      h('a', { href: link(context, 'question', spoken(name, filter)) }, 'Count them all the same'))),
  ].filter(Boolean);
}

/** What results say of the policy itself. Reports have no more of it: descriptions are in the policy, which the console does not read. */
function facts(context, name, { groups, more }) {
  const of = (field) => [...new Set(groups.map(({ by }) => by[field]).filter(Boolean))];
  const [sources, severities, categories] = ['source', 'severity', 'category'].map(of);
  const entry = (label, values) => (values.length ? [h('dt', {}, label), h('dd', {}, values.map((value, i) => [i ? ' \u00b7 ' : '', value]), more ? ' \u2026' : '')] : null);
  return h('dl', {}, entry('Source', sources.map((source) => (sources.length > 1 ? h('a', { href: link(context, 'policy', { policy: name, source }) }, source) : source))),
    entry('Severity', severities.map(severityBadge)), entry('Category', categories));
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

const share = (numbers) => passRate(numbers.get('pass') ?? 0, numbers.get('fail') ?? 0);

function countTable(caption, title, field, { rows, note }, label) {
  const columns = [{ title, rest: true }, ...outcomes.map((o) => ({ title: o, number: true })), { title: 'Pass rate', number: true }];
  const cell = (n, outcome) => h('span', { class: n ? `count ${outcome}` : 'muted' }, count(n));
  return [
    table(caption, columns, rows.map(({ by, numbers }) => [label(by[field] ?? ''), ...outcomes.map((o) => cell(numbers.get(o) ?? 0, o)), share(numbers)])),
    note ? h('p', { class: 'more' }, note) : null,
  ];
}

/** What is shown of a policy without results here: it may be a mistake, and has not passed. */
async function nothing(context, name, source) {
  const of = (policy, from) => link(context, 'policy', { policy, source: from });
  const title = heading(name || 'no policy', [source, inScope(context.scope)].filter(Boolean).join(' \u00b7 '));
  const missing = await unknown(context, 'policy', 'Policy', name, (policy) => of(policy, ''));
  return [title, missing ?? h('p', { class: 'nothing', role: 'alert' }, `The policy has no results of the source ${source} here, but of others. `, h('a', { href: of(name, '') }, 'Show these'))];
}
