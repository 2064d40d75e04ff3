// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record keeps what programs that write or read reports say to a cluster, and what a cluster
// with CustomResourceDefinitions answers, and repeats it to another server. So the tests have programs
// whose modules they can't have.
//
// [Proxy] stands between a program and kube-apiserver and makes a [Recording]; [Replayer] sends the
// requests of a recording and compares the answers. What a server chooses stands in a recording as a
// symbol, and the replay finds out what each stands for:
//
//   - $uid1, …: a UUID, wherever it is. One that no answer gave first is the program's own, and the
//     replay makes one up. They are numbered in their order, since lists are in that of names;
//   - $rv1, …: the resourceVersion of an object. Two symbols are two versions, one symbol is one:
//     a write that changes nothing shows;
//   - $listrv1, …: the resourceVersion of a list or of a bookmark, which may be any;
//   - $created1, …: the creationTimestamp of the object with $uid1;
//   - $name1, …: a name made from a generateName; $continue1, …: where a list goes on;
//   - $time: any time.
//
// Not kept are the times of bookmarks, except the one after the initial events, and the timeoutSeconds
// of watches, which informers choose at random. Requests to the resources of reports are passed on one
// at a time, so that a recording is a history; all others are not kept. What a watch begins with is
// compared before the request that follows it is sent.
//
// # Recording again
//
// Start a control plane with the published CustomResourceDefinitions, and the proxy for it:
//
//	go run ./test/record/cmd/record record --kubeconfig cluster.kubeconfig --write-kubeconfig program.kubeconfig \
//	    --program falcosidekick --program-version 2.34.1 --program-source "Git tag 2.34.1" \
//	    --did "writes ten events of three namespaces" --out test/record/testdata/falcosidekick-2.34.1.jsonl
//
// Run the program with program.kubeconfig, and whatever makes objects that it shall see, kubectl for
// example: a replay has no other writers. Then interrupt the proxy. It writes the file, or says what can't
// be recorded. Look at it before it is committed: it has whatever the program sent.
//
// A recording is tried on any server, such as the one that it was made with, by
//
//	go run ./test/record/cmd/record replay --kubeconfig cluster.kubeconfig test/record/testdata/*.jsonl
//
// The namespaces are made; they must not have reports.
//
// Goroutines: a watch that is replayed has one for each event that is waited for; they end with the replay.
package record
