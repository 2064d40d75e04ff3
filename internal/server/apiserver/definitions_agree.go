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
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store"
)

const (
	// wishesKey is the one object in which replicas write which files they have.
	wishesKey = "/docket.dev/wishes/all"
	// wishRenewal is how often a replica says what it has already said, and wishLife how long that counts: a replica that
	// was killed is forgotten then.
	wishRenewal = 30 * time.Second
	wishLife    = 90 * time.Second
)

// agreement is that all replicas on a database serve the same definitions: else an object that one stored would be read
// by another in its own way. One definition of all is agreed on; it changes once every living replica has it in its
// files.
type agreement struct {
	storage *store.Resource
	// id names this process.
	id      string
	renewed time.Time
	said    string
}

// agreedKey is where the object has what is agreed on, beside what each replica wishes.
const agreedKey = "agreed"

func newAgreement(in *store.Resource) *agreement {
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	return &agreement{storage: in, id: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.String(5))}
}

// ask says that this replica has files with a digest. It returns an error, which names another replica, if something
// else is agreed on. An empty digest takes back what was said.
func (a *agreement) ask(ctx context.Context, digest [sha256.Size]byte, now time.Time) error {
	wish := hex.EncodeToString(digest[:8])
	if digest == ([sha256.Size]byte{}) {
		wish = ""
	}
	var refused error
	err := a.storage.GuaranteedUpdate(ctx, wishesKey, &unstructured.Unstructured{}, true, nil,
		func(stored runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			object, ok := stored.(*unstructured.Unstructured)
			if !ok {
				return nil, nil, fmt.Errorf("what replicas wish is a %T", stored)
			}
			before := object.GetAnnotations()
			agreed, others := before[agreedKey], lively(before, a.id, now)
			refused = nil
			if wish != "" && wish != agreed {
				if refused = differing(others, wish, agreed); refused == nil {
					agreed = wish
				}
			}
			if wish == a.said && agreed == before[agreedKey] && now.Sub(a.renewed) < wishRenewal {
				return object, nil, nil // Nothing is written.
			}
			if object.Object == nil {
				object.Object = map[string]any{}
			}
			object.SetAPIVersion("docket.dev/v1")
			object.SetKind("Wishes")
			object.SetName("all")
			others[agreedKey] = agreed
			if wish != "" {
				others[a.id] = wish + " " + now.UTC().Format(time.RFC3339)
			}
			object.SetAnnotations(others)
			return object, nil, nil
		}, nil)
	if err != nil {
		return err
	}
	if wish != a.said || now.Sub(a.renewed) >= wishRenewal {
		a.said, a.renewed = wish, now
	}
	return refused
}

// differing returns an error if another replica wishes something else than this one.
func differing(others map[string]string, wish, agreed string) error {
	for _, id := range slices.Sorted(maps.Keys(others)) {
		if other, _, _ := strings.Cut(others[id], " "); other != wish {
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
