// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// Names of the terms of Report: each has a UIDTerm of its own value n, and all have the EngineTerm of value 7.
const (
	UIDTerm    = 1
	EngineTerm = 2
)

// Report returns the creation of report n as Kyverno would write it, for benchmarks: 7 kB of JSON that were packed into
// 500 bytes, a subject of its own, 17 results with some of a few hundred verdicts, two terms.
func Report(n int64) engine.Op {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	data := make([]byte, 500)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	uid := fmt.Sprintf("%08x-1a2b-4c3d-8e4f-%012x", random.Uint32(), n)
	namespace := fmt.Sprintf("team-%02d", n%40)
	p := &engine.Projection{
		Namespace: namespace, Name: uid, UID: fmt.Sprintf("%08x-aaaa-4c3d-8e4f-%012x", random.Uint32(), n),
		Kind: "PolicyReport", Source: "kyverno", CreatedAt: 1_700_000_000 + n, Pass: 15, Fail: 2,
		Scope: &engine.Subject{
			APIVersion: "v1", Kind: "Pod", Namespace: namespace, UID: uid, Name: fmt.Sprintf("web-%010x-%05x", n/7, n%997),
		},
	}
	for i := range 17 {
		p.Results = append(p.Results, engine.Result{
			Index: int32(i), Seconds: p.CreatedAt,
			Verdict: &engine.Verdict{
				Source: "kyverno", Policy: fmt.Sprintf("require-something-%d", i), Rule: "autogen-check",
				Category: "Pod Security Standards", Severity: "medium", Result: "pass", Scored: true,
				Message: fmt.Sprintf("validation rule '%d' passed.", random.IntN(20)),
			},
		})
	}
	return engine.Op{
		Kind: engine.Create, Resource: reports, Key: namespace + "/" + uid,
		Value:      engine.Value{Data: data, Codec: 1, Size: 7400},
		Index:      []engine.Term{{Name: UIDTerm, Value: n}, {Name: EngineTerm, Value: 7}},
		Projection: p,
	}
}
