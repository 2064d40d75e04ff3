// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// The clusters whose reports are in the database, side by side.

import { clusterSummaries, literal } from './api.js';
import { age, count, h } from './dom.js';
import { quoted } from './filters.js';
import { fleetRights } from './fleet.js';
import { copyable, heading, linked, table } from './pieces.js';
import { address } from './router.js';
import { passRate, severities, severityName } from './terms.js';

/** Engines scan once a day or more often, and reports change with each scan: a cluster where none does is not looked at any more. In hours. */
const longestSilence = 24;

/**
 * Why one should not believe that a cluster is as its numbers say; "" for no reason. Where the time of the last change is missing,
 * it was before the history that the server keeps, which may be an hour ago.
 * @param {{servers: number, changed?: string}} cluster
 * @param {number} now in milliseconds
 */
export function silence({ servers, changed }, now) {
  if (!servers) return 'no server serves it now';
  return changed && now - Date.parse(changed) > longestSilence * 3_600_000 ? `nothing changed for more than ${longestSilence} hours` : '';
}

/**
 * The numbers of the page. FILTER is known to PostgreSQL and SQLite.
 * @param {string[]} shown severities
 */
function sql(shown) {
  const sum = (name, condition) => `coalesce(sum(n.results) FILTER (WHERE ${condition}), 0) AS ${name}`;
  const severe = shown.map((name) => sum(severityName(name), `n.result = 'fail' AND n.severity = '${name}'`));
  const numbers = [...['pass', 'fail'].map((name) => sum(name, `n.result = '${name}'`)), ...severe];
  return `SELECT c.name, c.reports, ${numbers.join(', ')} FROM clusters AS c LEFT JOIN policy_namespace_counts AS n ON n.cluster = c.name GROUP BY c.name, c.reports ORDER BY c.name`;
}

/** @param {import('./pieces.js').Context} context */
export async function clusters({ signal, info, show }) {
  const [all, rights] = await Promise.all([clusterSummaries(signal), fleetRights()]);
  const shown = severities.filter((name) => all.some((c) => c.failBySeverity?.[severityName(name)]));
  const now = new Date();
  const failures = ({ metadata: { name }, fail }) => linked(rights.ask && fail > 0, address('question', {
    title: `What fails in ${name}`, fleet: '1', filter: `cluster == ${literal(name)} && result == "fail"`, by: ['source', 'policy'], number: ['namespaces', 'subjects'], order: 'results', desc: '1',
  }), count(fail));
  const columns = [
    { title: 'Cluster', name: true, of: (c) => nameCell(c, now.getTime()) },
    { title: 'Servers', of: (c) => count(c.servers) },
    { title: 'Last change', of: (c) => (c.changed || !c.reports ? age(c.changed) : h('span', { class: 'muted' }, 'before the history')) },
    { title: 'Reports', of: (c) => count(c.reports) }, { title: 'Pass rate', of: (c) => passRate(c.pass, c.fail) }, { title: 'Failures', of: failures },
    ...shown.map((name) => ({ title: severityName(name), of: (c) => count(c.failBySeverity?.[severityName(name)] ?? 0) })),
    { title: 'Policies', of: (c) => count(c.policies) }, { title: 'Failing policies', of: (c) => count(c.failingPolicies) },
  ].map((column) => ({ number: !column.name, ...column }));
  return [
    heading('Clusters', `${count(all.length)} in the database, read at ${now.toLocaleTimeString()} `, h('button', { type: 'button', name: 'again', onclick: show }, 'Refresh')),
    h('p', { class: 'note' }, 'Names are those that clusters have in the database. The numbers are of all clusters, whatever rights you have in them.'),
    table('Clusters of the database', columns, all.map((c) => columns.map((column) => column.of(c))), { empty: 'There are no clusters.' }),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl or SQL'),
      copyable('Copy as kubectl', [...info.kubectl, 'get', 'clustersummaries'].map(quoted).join(' ')), copyable('Copy as SQL', sql(shown))),
  ];
}

function nameCell(cluster, now) {
  const reason = silence(cluster, now);
  return [h('span', {}, cluster.metadata.name), reason ? [' ', h('span', { class: 'badge medium' }, 'silent'), h('small', {}, reason)] : null];
}
