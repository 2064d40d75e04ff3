// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Questions that people ask, each of which is an address.

import { h } from './dom.js';
import { clusterCount, fleetRights } from './fleet.js';
import { heading, inScope, link } from './pieces.js';

const fails = 'result == "fail"';
const subject = ['subject.kind', 'subject.namespace', 'subject.name'];
const most = { order: 'results', desc: '1' };

/** Groups of questions; their parameters are those of the page that answers them. */
const known = [
  ['What fails', [
    ['Where are the failures, by namespace and severity?', { filter: fails, by: ['report.namespace', 'severity'], ...most }],
    ['How severe are the failures of each namespace?', { view: 'severity' }, 'namespaces'],
    ['Which policies fail most, and in how many namespaces?', { filter: fails, by: ['source', 'policy'], number: ['namespaces', 'subjects'], ...most }],
    ['What failed most recently?', { filter: fails, sort: 'timestamp', desc: '1' }],
    ['How many failures were found each day?', { filter: fails, by: ['day', 'source'] }],
    ['Which resources have critical findings of two sources or more?', { filter: `${fails} && severity == "critical" && subject.name != ""`, by: subject, number: ['sources'], having: 'sources >= 2', order: 'sources', desc: '1' }],
  ]],
  ['What passes', [
    ['What share of the checks does each policy pass?', { view: 'share' }, 'policies'],
    ['Which namespaces have no failures?', { view: 'clean' }, 'namespaces'],
    ['Which policies never fail?', { view: 'clean' }, 'policies'],
  ]],
  ['Who and why', [
    ['Who produces the results?', { by: ['source'], columns: 'result' }],
    ['Which messages are most frequent?', { filter: 'result in ["fail", "error"] && message != ""', by: ['source', 'message'], ...most }],
    ['Which rules can\u2019t be evaluated, and why?', { filter: 'result == "error"', by: ['source', 'policy', 'rule', 'message'], ...most }],
    ['Which reports are older than a day?', { filter: 'report.created < now - duration("24h")', by: ['report.namespace', 'report.kind', 'report.name'] }],
  ]],
  ['Vulnerabilities', [
    ['Which images have the most critical ones?', { filter: `${fails} && severity == "critical" && properties["artifact.repository"] != ""`, by: ['properties["artifact.repository"]'], number: ['policies'], ...most }],
  ]],
];

/**
 * The questions about all clusters that somebody may ask.
 * @param {import('./fleet.js').Rights} rights
 * @param {number} clusters how many there are; 0 where that is not known
 */
function aboutClusters(rights, clusters) {
  const of = (name, params) => [name, { fleet: '1', filter: fails, ...params }];
  return ['Clusters', [
    clusters && ['How do the clusters compare?', {}, 'clusters'],
    rights.ask && clusters && of('Which resources fail in every cluster?', { filter: `${fails} && subject.name != ""`, by: subject, number: ['clusters', 'policies'], having: `clusters == ${clusters}`, order: 'policies', desc: '1' }),
    rights.ask && of('Which policies fail in one cluster only?', { by: ['source', 'policy'], number: ['clusters'], having: 'clusters == 1' }),
    rights.ask && of('What failed most recently, in all clusters?', { sort: 'timestamp', desc: '1' }),
  ].filter(Boolean)];
}

/** @param {import('./pieces.js').Context} context */
export async function questions(context) {
  const all = [...known, aboutClusters(await fleetRights(), await clusterCount(context.signal))].filter(([, list]) => list.length);
  return [
    heading('Questions', `About results ${inScope(context.scope)}. Each is a start: change it, or `, h('a', { href: link(context, 'question') }, 'ask your own'), '.'),
    h('div', { class: 'cards' }, all.map(([title, list]) => h('section', { class: 'card' }, h('h2', {}, title),
      h('ul', { class: 'questions' }, list.map(([name, params, page]) => h('li', {}, h('a', { href: link(context, page ?? 'question', page ? params : { title: name, ...params }) }, name))))))),
  ];
}
