// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registrytest has an image registry on loopback for tests, and signs images in it as cosign
// does: with a key, without a transparency log.
package registrytest

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/cosign/v3/pkg/types"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// Registry is a registry. Its functions may be used while it is asked.
type Registry struct {
	// Host is its address, with the port.
	Host string

	server *httptest.Server

	mu             sync.Mutex
	user, password string
	// answer, if not nil, answers instead of the registry if it returns true.
	answer func(http.ResponseWriter, *http.Request) bool
	asked  []string
}

// New returns an empty registry, which is closed when the test ends.
func New(tb testing.TB) *Registry {
	tb.Helper()
	r := &Registry{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !r.answered(w, request) {
			inner.ServeHTTP(w, request)
		}
	}))
	tb.Cleanup(r.Close)
	r.Host = strings.TrimPrefix(r.server.URL, "http://")
	return r
}

// Close makes it unreachable.
func (r *Registry) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *Registry) answered(w http.ResponseWriter, request *http.Request) bool {
	r.mu.Lock()
	answer, user, password := r.answer, r.user, r.password
	r.asked = append(r.asked, request.Method+" "+request.URL.Path)
	r.mu.Unlock()
	if given, secret, _ := request.BasicAuth(); user != "" && (given != user || secret != password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, "{}", http.StatusUnauthorized)
		return true
	}
	return answer != nil && answer(w, request)
}

// Answer has a function answer first, which returns false for what the registry is to answer; nil for none.
func (r *Registry) Answer(answer func(http.ResponseWriter, *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Protect demands a password of everybody.
func (r *Registry) Protect(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.password = user, password
}

// Asked returns the methods and paths of all requests since it was called last.
func (r *Registry) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

func (r *Registry) options() []remote.Option {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []remote.Option{remote.WithAuth(&authn.Basic{Username: r.user, Password: r.password})}
}

// Push adds an image and returns its name with the tag and the digest.
func (r *Registry) Push(tb testing.TB, repository string) string {
	tb.Helper()
	tag, err := name.NewTag(r.Host + "/" + repository + ":v1")
	image, broken := random.Image(64, 1)
	if err := cmp.Or(err, broken); err != nil {
		tb.Fatal(err)
	}
	if err := remote.Write(tag, image, r.options()...); err != nil {
		tb.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	return tag.String() + "@" + digest.String()
}

// Key signs images.
type Key struct {
	// PEM is the public key.
	PEM    string
	signer signature.Signer
}

// NewKey returns a key that nobody else has.
func NewKey(tb testing.TB) *Key {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := signature.LoadECDSASigner(private, crypto.SHA256)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := cryptoutils.MarshalPublicKeyToPEM(private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{PEM: string(text), signer: signer}
}

// digest is the image as cosign names it.
func digest(tb testing.TB, image string) name.Digest {
	tb.Helper()
	out, err := name.NewDigest(image)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Sign adds a signature to an image, at the tag beside it.
func (r *Registry) Sign(tb testing.TB, image string, key *Key) {
	tb.Helper()
	subject := digest(tb, image)
	message, err := payload.Cosign{Image: subject}.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := key.signer.SignMessage(bytes.NewReader(message))
	if err != nil {
		tb.Fatal(err)
	}
	layer, err := static.NewSignature(message, base64.StdEncoding.EncodeToString(signed))
	if err != nil {
		tb.Fatal(err)
	}
	options := ociremote.WithRemoteOptions(r.options()...)
	entity, err := ociremote.SignedEntity(subject, options)
	if err == nil {
		entity, err = mutate.AttachSignatureToEntity(entity, layer)
	}
	if err == nil {
		err = ociremote.WriteSignatures(subject.Context(), entity, options)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Attest adds a signed statement of in-toto to an image.
func (r *Registry) Attest(tb testing.TB, image string, key *Key, predicateType string, predicate any) {
	tb.Helper()
	subject := digest(tb, image)
	hash, err := v1.NewHash(subject.DigestStr())
	if err != nil {
		tb.Fatal(err)
	}
	statement, err := json.Marshal(map[string]any{
		"_type": "https://in-toto.io/Statement/v0.1", "predicateType": predicateType, "predicate": predicate,
		"subject": []any{map[string]any{"name": subject.Context().Name(), "digest": map[string]any{hash.Algorithm: hash.Hex}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	envelope, err := dsse.WrapSigner(key.signer, types.IntotoPayloadType).SignMessage(bytes.NewReader(statement))
	if err != nil {
		tb.Fatal(err)
	}
	layer, err := static.NewAttestation(envelope, static.WithLayerMediaType(types.DssePayloadType), static.WithAnnotations(map[string]string{"predicateType": predicateType}))
	if err != nil {
		tb.Fatal(err)
	}
	options := ociremote.WithRemoteOptions(r.options()...)
	entity, err := ociremote.SignedEntity(subject, options)
	if err == nil {
		entity, err = mutate.AttachAttestationToEntity(entity, layer)
	}
	if err == nil {
		err = ociremote.WriteAttestations(subject.Context(), entity, options)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
