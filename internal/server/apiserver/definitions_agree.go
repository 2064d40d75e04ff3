// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store"
)

const (
	// Of the objects in which replicas write which files they have, ofDefinitions is about definitions, ofMappings about
	// mappings.
	ofDefinitions = "all"
	ofMappings    = "mappings"
	// wishRenewal is how often a replica says what it has already said, and wishLife how long that counts: a replica that
	// was killed is forgotten then.
	wishRenewal = 30 * time.Second
	wishLife    = 90 * time.Second
)

// agreement is that all replicas on a database serve the same definitions: else an object that one stored would be read
// by another in its own way. One definition of all is agreed on; it changes once every living replica has it in its
// files. The same goes for mappings, by which rows are made again only then.
type agreement struct {
	storage *store.Resource
	// about is one of ofDefinitions and ofMappings.
	about string
	// id names this process. It is the first one if no other living one has a lower id.
	id      string
	first   bool
	renewed time.Time
	said    string
}

// agreedKey is where the object has what is agreed on, beside what each replica wishes.
const agreedKey = "agreed"

// newAgreement returns nil where this is the only process on a database: in is nil then.
func newAgreement(in *store.Resource, about string) *agreement {
	if in == nil {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	return &agreement{storage: in, about: about, id: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.String(5))}
}

// leave tells the other replicas not to wait for this one.
func (a *agreement) leave(ctx context.Context) {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), definitionsInterval)
	defer cancel()
	if err := a.ask(ctx, [sha256.Size]byte{}, time.Now()); err != nil {
		klog.ErrorS(err, "The other replicas could not be told that this one ends; they wait for it a while", "wait", wishLife)
	}
}

// ask says that this replica has files with a digest. It returns an error, which names another replica, if something
// else is agreed on. An empty digest takes back what was said.
func (a *agreement) ask(ctx context.Context, digest [sha256.Size]byte, now time.Time) error {
	wish := hex.EncodeToString(digest[:8])
	if digest == ([sha256.Size]byte{}) {
		wish = ""
	}
	var refused error
	err := updateNotes(ctx, a.storage, "/docket.dev/wishes/"+a.about, func(before map[string]string) map[string]string {
		agreed, others := before[agreedKey], lively(before, a.id, now)
		refused, a.first = nil, true
		for id := range others {
			a.first = a.first && a.id < id
		}
		if wish != "" && wish != agreed {
			if refused = a.differing(others, wish, agreed); refused == nil {
				agreed = wish
			}
		}
		if wish == a.said && agreed == before[agreedKey] && now.Sub(a.renewed) < wishRenewal {
			return nil
		}
		others[agreedKey] = agreed
		if wish != "" {
			others[a.id] = wish + " " + now.UTC().Format(time.RFC3339)
		}
		return others
	})
	if err != nil {
		return err
	}
	if wish != a.said || now.Sub(a.renewed) >= wishRenewal {
		a.said, a.renewed = wish, now
	}
	return refused
}

// updateNotes changes the annotations of an object of the server's own. Nothing is written where change returns nil.
func updateNotes(ctx context.Context, in *store.Resource, key string, change func(before map[string]string) map[string]string) error {
	return in.GuaranteedUpdate(ctx, key, &unstructured.Unstructured{}, true, nil,
		func(stored runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			object, ok := stored.(*unstructured.Unstructured)
			if !ok {
				return nil, nil, fmt.Errorf("%s is a %T", key, stored)
			}
			notes := change(object.GetAnnotations())
			if notes == nil {
				return object, nil, nil
			}
			if object.Object == nil {
				object.Object = map[string]any{}
			}
			object.SetAPIVersion("docket.dev/v1")
			object.SetKind("Notes")
			object.SetName(path.Base(key))
			object.SetAnnotations(notes)
			return object, nil, nil
		}, nil)
}

// differing returns an error if another replica wishes something else than this one.
func (a *agreement) differing(others map[string]string, wish, agreed string) error {
	for _, id := range slices.Sorted(maps.Keys(others)) {
		other, _, _ := strings.Cut(others[id], " ")
		switch {
		case other == wish:
		case a.about == ofMappings:
			return fmt.Errorf("replica %s has other result mappings (%s) than this one (%s); each makes the rows of what it writes by its own until all have the same files", id, other, wish)
		default:
			return fmt.Errorf("replica %s has other definitions of custom resources (%s) than this one (%s); %s are served until all have the same files", id, other, wish, agreed)
		}
	}
	return nil
}

// lively returns what replicas other than one said lately.
func lively(wishes map[string]string, but string, now time.Time) map[string]string {
	others := map[string]string{}
	for id, said := range wishes {
		_, text, _ := strings.Cut(said, " ")
		at, err := time.Parse(time.RFC3339, text)
		if id != but && err == nil && now.Sub(at) < wishLife {
			others[id] = said
		}
	}
	return others
}
