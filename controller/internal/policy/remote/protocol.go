// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// protocolVersion changes when a message changes in a way that an older side would misread.
	protocolVersion = 1
	// helloWord begins the line that an engine prints first; the version follows.
	helloWord = "docket-engine-protocol"
	// maxHello is longer than any such line, in bytes.
	maxHello = 128
	// maxObject bounds what one call has of an object or a policy, in bytes: far more than the API server takes.
	maxObject = 64 << 20
	// serviceName is the name under which net/rpc has the methods of an engine.
	serviceName = "Engine"
)

// hello returns the first line of an engine.
func hello(version int) string { return fmt.Sprintf("%s %d\n", helloWord, version) }

// readHello reads the first line of an engine, and returns an error that says what it is if it is no engine of
// this version. It reads nothing after the line.
func readHello(from *bufio.Reader) error {
	var line []byte
	for len(line) < maxHello {
		next, err := from.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("it ended before it said that it is an engine")
			}
			return err
		}
		if next == '\n' {
			break
		}
		line = append(line, next)
	}
	var version int
	if _, err := fmt.Sscanf(string(line), helloWord+" %d", &version); err != nil {
		return fmt.Errorf("it is no engine: it begins with %q; give the path of a docket-controller", strings.ToValidUTF8(string(line), "?"))
	}
	if version != protocolVersion {
		return fmt.Errorf("it speaks version %d of the protocol of engines, and this program version %d; give a docket-controller of about this version", version, protocolVersion)
	}
	return nil
}

// Setup tells an engine who it is.
type Setup struct {
	Name string
	// Settings are for the host, see [Host].
	Settings []byte
}

// About is the answer.
type About struct {
	// Version has the name and the version of the engine.
	Version string
}

// Exceptions are a list that policies are compiled with, under an ID.
type Exceptions struct {
	ID      uint64
	Objects [][]byte
}

// Compile has a policy compiled and kept under its ID.
type Compile struct {
	ID     uint64
	Object []byte
	// Exceptions is the ID of a list that was sent before.
	Exceptions uint64
}

// Description has what a [policy.Policy] says about itself.
type Description struct {
	Identity       policy.Identity
	Presentation   policy.Presentation
	Fingerprint    string
	Background     bool
	Reported       bool
	Admission      policy.Admission
	Entries        []policy.Entry
	ReadsNamespace bool
	ReadsStatus    bool
	Targets        []policy.Target
	// Problem and Doubt are empty if there is none. Unknown is set if Doubt is that.
	Problem, Doubt string
	Unknown        *policy.UnknownFieldsError
	LeftOut        []string
	Ignored        []policy.IgnoredException
	Coverage       policy.Coverage
}

// Evaluate has policies evaluated for a subject.
type Evaluate struct {
	// ID is for [More] and [Cancel].
	ID       uint64
	Policies []uint64
	Subject  Subject
	// Limit is that of each evaluation; 0 means none.
	Limit time.Duration
}

// Subject is a [policy.Subject].
type Subject struct {
	Object          []byte
	Resource        schema.GroupVersionResource
	NamespaceLabels map[string]string
	// Namespace is empty if it is not known.
	Namespace []byte
}

// More waits for the other results of an [Evaluate].
type More struct{ ID uint64 }

// Evaluated are the results that there are by now.
type Evaluated struct {
	Items []EvaluatedItem
	// More is true if there will be others.
	More bool
}

// EvaluatedItem is the evaluation of one policy.
type EvaluatedItem struct {
	// Index is that in [Evaluate.Policies].
	Index   int
	Results []policy.Result
	// Error is empty if there is none.
	Error string
}

// Review has a policy evaluated for an admission request.
type Review struct {
	ID     uint64
	Policy uint64
	// Request is the AdmissionRequest; New and Old are its objects, empty if there is none.
	Request, New, Old []byte
	NamespaceLabels   map[string]string
	// Namespace is empty if it is not known.
	Namespace []byte
	// Roles is empty if the policy does not read roles.
	Roles *Roles
	// Limit is the time that is left; 0 means no limit.
	Limit time.Duration
}

// Roles are those of the user of a request.
type Roles struct {
	Roles, ClusterRoles []string
	// Error is empty if there is none.
	Error string
}

// Reviewed is the answer.
type Reviewed struct {
	Verdicts []policy.Verdict
	// Error is empty if there is none.
	Error string
}

// Cancel ends an [Evaluate] or a [Review].
type Cancel struct{ ID uint64 }

// Ping asks whether the engine still answers.
type Ping struct {
	// Release has the IDs of policies and lists of exceptions that are not needed any more.
	Release []uint64
}

// Asked are queries of the context cache, and those that nobody waits for any more.
type Asked struct {
	Queries  []Question
	Canceled []uint64
}

// Question is a query of the context cache.
type Question struct {
	ID    uint64
	Query policy.Query
	// Known is the tag of the last answer that the engine has for the query; 0 for none.
	Known uint64
	// Limit is the time that is left; 0 means no limit.
	Limit time.Duration
}

// Answer is the result of a query.
type Answer struct {
	ID uint64
	// Known is true if the result is that which the engine knows; otherwise Value is the JSON of the result, and
	// Tag is for the next question.
	Known bool
	Tag   uint64
	Value []byte
	// Error is empty if there is none.
	Error string
}

// None is the argument or the answer of calls without one. Its field is there because gob wants one.
type None struct{ None bool }
