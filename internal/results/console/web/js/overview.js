// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Where failures are: by severity, namespace, policy and source.

import { ask } from './api.js';
import { count, h } from './dom.js';
import { bars, heading, link, inScope, tiles } from './pieces.js';
import { sinceOpened } from './since.js';
import { severities, severityBadge, worse } from './terms.js';

const failing = 'result == "fail"';
const longest = 10;
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
  if (!all.groups.length) return [heading('Overview', inScope(scope)), news, h('p', { class: 'nothing' }, 'There are no results. No engine has written a report here that you may read.')].filter(Boolean);
  const more = (answer, what) => (answer.more || answer.groups.length > longest ? [`The ${longest} ${what} with most failures.`] : null);
  return [
    heading('Overview', `${count(fails)} ${fails === 1 ? 'failure' : 'failures'} ${inScope(scope)}`),
    tiles(all.groups, (result) => link(context, 'results', { result })),
    news,
    h('div', { class: 'cards' },
      h('div', { class: 'stack' }, bars('Failures by severity', severe.groups.sort((a, b) => worse(a.by, b.by)).map(({ by, results }) => ({
        label: severityBadge(by.severity), value: results, kind: severities.includes(by.severity) ? by.severity : '',
        href: link(context, 'results', { result: 'fail', severity: by.severity || 'none' }),
      }))),
      bars('Failures by source', sources.groups.map(({ by, results }) => ({
        label: by.source || 'no source', value: results, href: link(context, 'results', { result: 'fail', source: by.source }),
      })), { more: more(sources, 'sources') })),
      spaces && bars('Failures by namespace', spaces.groups.map(({ by, results }) => ({
        label: by['report.namespace'] || 'outside of namespaces', value: results,
        href: link(context, 'results', { result: 'fail', ...(by['report.namespace'] ? { namespace: by['report.namespace'] } : { outside: '1' }) }),
      })), { more: more(spaces, 'namespaces') }),
      bars('Failures by policy', policies.groups.slice(0, longest).map(({ by, results }) => ({
        label: [by.policy || 'no policy', h('small', {}, by.source)], value: results, href: link(context, 'policy', { policy: by.policy, source: by.source }),
      })), { more: more(policies, 'policies') })),
  ].filter(Boolean);
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
