// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Where failures are: by severity, namespace, policy and source.

import { ask, askBriefly, longer } from './api.js';
import { most } from './counts.js';
import { count, h } from './dom.js';
import { findings } from './fix.js';
import { bars, heading, link, inScope, part, tiles } from './pieces.js';
import { sinceOpened } from './since.js';
import { severities, severityBadge, worse } from './terms.js';

const failing = 'result == "fail"';
const longest = 10;
/** Findings that are shown at once, and days. */
const foremost = 5;
const shownDays = 14;
/** By the time that results state. The clocks of those who write them may be a little ahead. */
const lastDay = 'timestamp >= now - duration("24h") && timestamp <= now + duration("5m")';
/** Policies whose failures are compared with those of before. */
const compared = 1000;

/** @param {import('./pieces.js').Context} context */
export async function overview(context) {
  const { scope, signal } = context;
  const top = (by, limit = longest) => ask(scope, { filter: failing, groupBy: by, orderBy: 'results', descending: true, limit }, signal);
  const [all, severe, policies, sources, spaces] = await Promise.all([
    ask(scope, { groupBy: ['result'] }, signal), top(['severity'], 100), top(['policy', 'source'], compared), top(['source']),
    scope.namespace || scope.outside ? null : top(['report.namespace']),
  ]);
  const fails = all.groups.find((g) => g.by.result === 'fail')?.results ?? 0;
  const news = sinceOpened(link(context, ''), numbers(context, all, policies), context.show);
  if (!all.groups.length) return [heading('Overview', inScope(scope)), news, h('p', { class: 'nothing' }, 'There are no results: no engine has written a report here that you may read. To see some: ', h('code', {}, 'docket up --demo'), ', Kyverno, Trivy, or ', h('code', {}, 'docket-controller scan --to'), '.')].filter(Boolean);
  // The server answers one person's questions in turn: what takes long is asked last.
  const first = fails ? await part(context, () => findings(context, foremost, () => h('a', { href: link(context, 'fix') }, 'More of them'))) : null;
  const days = await part(context, () => byDay(context));
  const more = (answer, what) => (answer.more || answer.groups.length > longest ? [`The ${longest} ${what} with most failures.`] : null);
  return [
    heading('Overview', `${count(fails)} ${fails === 1 ? 'failure' : 'failures'} ${inScope(scope)}`),
    tiles(all.groups, (result) => link(context, 'results', { result })),
    news,
    first ? h('section', { class: 'card first' }, h('h2', {}, 'Fix first'), first) : null,
    h('div', { class: 'cards' },
      h('div', { class: 'stack' }, bars('Failures by severity', severe.groups.sort((a, b) => worse(a.by, b.by)).map(({ by, results }) => ({
        label: severityBadge(by.severity), value: results, kind: severities.includes(by.severity) ? by.severity : '',
        href: link(context, 'results', { result: 'fail', severity: by.severity || 'none' }),
      }))),
      bars('Failures by source', sources.groups.map(({ by, results }) => ({
        label: by.source || 'no source', value: results, href: link(context, 'results', { result: 'fail', source: by.source }),
      })), { more: more(sources, 'sources') }), days),
      spaces && bars('Failures by namespace', spaces.groups.map(({ by, results }) => ({
        label: by['report.namespace'] || 'cluster-scoped', value: results,
        href: link(context, 'results', { result: 'fail', ...(by['report.namespace'] ? { namespace: by['report.namespace'] } : { outside: '1' }) }),
      })), { more: more(spaces, 'namespaces') }),
      bars('Failures by policy', policies.groups.slice(0, longest).map(({ by, results }) => ({
        label: [by.policy || 'no policy', h('small', {}, by.source)], value: results, href: link(context, 'policy', { policy: by.policy, source: by.source }),
      })), { more: more(policies, 'policies') })),
  ].filter(Boolean);
}

/** Failures by the day of their timestamp: the last ones that have any. Times to come, which wrong clocks state, are a number beside them. */
async function byDay(context) {
  const [days, recent] = await Promise.all([
    askBriefly(context.scope, { filter: failing, groupBy: ['day'], orderBy: 'day', descending: true, limit: most }, context.signal, longer),
    askBriefly(context.scope, { filter: `${failing} && ${lastDay}`, limit: 1 }, context.signal, longer),
  ]);
  if (!days) return [];
  const { groups, more } = days;
  const today = new Date().toISOString().slice(0, 10);
  const dated = groups.filter(({ by }) => by.day && by.day <= today);
  const ahead = groups.filter(({ by }) => by.day > today).reduce((sum, { results }) => sum + results, 0);
  const of = (title, condition) => link(context, 'question', { title: `Failures ${title}`, filter: `${failing} && ${condition}`, sort: 'timestamp', desc: '1' });
  const midnight = (day) => `timestamp("${day}T00:00:00Z")`;
  const next = (day) => `${midnight(day)} + duration("24h")`;
  const newest = h('a', { href: of('of the last 24 hours', lastDay) }, recent ? `${count(recent.groups[0]?.results ?? 0)} in the last 24 hours` : 'Those of the last 24 hours');
  return bars('Failures by day', dated.slice(0, shownDays).map(({ by: { day }, results }) => ({
    label: day, value: results, href: of(`of ${day}`, `timestamp >= ${midnight(day)} && timestamp < ${next(day)}`),
  })), { more: [
    newest, more || dated.length > shownDays ? ` The last ${shownDays} days that have any.` : '',
    ahead ? [' \u00b7 ', h('a', { href: of('dated after today', `timestamp >= ${next(today)}`) }, `${count(ahead)} dated after today`)] : '',
  ], empty: 'No failure states a time that has passed.' });
}

/** @returns {import('./since.js').Numbers} */
const numbers = (context, all, policies) => ({
  at: new Date(),
  results: new Map(all.groups.map(({ by, results }) => [by.result, results])),
  policies: new Map(policies.groups.map(({ by, results }) => [JSON.stringify([by.policy, by.source]), {
    policy: by.policy, source: by.source, href: link(context, 'policy', { policy: by.policy, source: by.source }), failures: results,
  }])),
  complete: !policies.more,
});
