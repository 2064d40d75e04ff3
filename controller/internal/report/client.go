// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/report"
)

const (
	// maxObject bounds the size of a report that is read; servers store smaller ones.
	maxObject = 8 << 20
	// defaultQPS and defaultBurst apply if the caller sets no limit.
	defaultQPS, defaultBurst = 100, 200
	// metadataOnly asks for a response without the report that was sent.
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	jsonType     = "application/json"
)

// remote sends requests to the server. Reports are encoded and decoded without untyped maps.
type remote struct {
	groups   map[API]rest.Interface
	metadata metadata.Interface
}

// identity is what a server adds to a report, and what others have added.
type identity struct {
	UID             types.UID
	ResourceVersion string
	// foreign is nil if others have added nothing.
	foreign *foreign
}

func identityOf(object metav1.Object) identity {
	return identity{UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), foreign: foreignOf(object)}
}

func newRemote(config *rest.Config) (*remote, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 && config.RateLimiter == nil {
		config.QPS, config.Burst = defaultQPS, defaultBurst
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client for reports: %w", err)
	}
	r := &remote{groups: map[API]rest.Interface{}}
	if r.metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("client for the metadata of reports: %w", err)
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // To decode errors.
	for _, api := range []API{WGPolicy, OpenReports} {
		group := rest.CopyConfig(config)
		group.APIPath, group.GroupVersion = "/apis", new(kindOf(api, true).version)
		group.ContentType, group.AcceptContentTypes = jsonType, jsonType
		group.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		if r.groups[api], err = rest.RESTClientForConfigAndClient(group, client); err != nil {
			return nil, fmt.Errorf("client for %s: %w", api, err)
		}
	}
	return r, nil
}

// at sets the URL of a request to that of a report, or, without a name, of all reports in its namespace.
func at(request *rest.Request, k kind, key reportKey) *rest.Request {
	request = request.Resource(k.resource).NamespaceIfScoped(key.namespace, k.namespaced)
	if key.name != "" {
		request = request.Name(key.name)
	}
	return request
}

// get reads a report.
func (r *remote) get(ctx context.Context, api API, key reportKey) (_ report.Accessor, err error) {
	k := kindOf(api, key.namespace != "")
	body, err := at(r.groups[api].Get(), k, key).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	object := k.empty()
	if err := json.NewDecoder(io.LimitReader(body, maxObject)).Decode(object); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", k.name, key, err)
	}
	return object, nil
}

// create writes a new report.
func (r *remote) create(ctx context.Context, api API, key reportKey, data []byte) (identity, error) {
	k := kindOf(api, key.namespace != "")
	return send(ctx, at(r.groups[api].Post(), k, reportKey{namespace: key.namespace}), data)
}

// update writes a report that exists; data includes its resourceVersion.
func (r *remote) update(ctx context.Context, api API, key reportKey, data []byte) (identity, error) {
	return send(ctx, at(r.groups[api].Put(), kindOf(api, key.namespace != ""), key), data)
}

func send(ctx context.Context, request *rest.Request, data []byte) (identity, error) {
	answer, err := do(ctx, request.SetHeader("Accept", metadataOnly), data)
	if err != nil {
		return identity{}, err
	}
	var object metav1.PartialObjectMetadata
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&object); err != nil {
		return identity{}, fmt.Errorf("decode the answer to a write: %w", err)
	}
	return identityOf(&object), nil
}

// remove deletes a report if its UID and resourceVersion are still the given ones.
func (r *remote) remove(ctx context.Context, api API, key reportKey, id identity) error {
	options := metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &id.UID, ResourceVersion: &id.ResourceVersion},
	}
	data, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("encode the options of a deletion: %w", err)
	}
	_, err = do(ctx, at(r.groups[api].Delete(), kindOf(api, key.namespace != ""), key), data)
	return err
}

// do sends a request. It returns errors of the server unchanged.
func do(ctx context.Context, request *rest.Request, data []byte) ([]byte, error) {
	result := request.SetHeader("Content-Type", jsonType).Body(data).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

const (
	// pageSize is the number of reports in one request. They are decoded one by one, so that a page is
	// never in memory as a whole.
	pageSize = 500
	// listAttempts is how often a list is begun if it expires while it is read.
	listAttempts = 3
)

// list calls each for all reports of a kind that the selector matches. If the list expires while it is read,
// it starts over, so that each may be called more than once for a report.
func (r *remote) list(ctx context.Context, api API, k kind, selector string, each func(report.Accessor) error) error {
	var err error
	for range listAttempts {
		next := ""
		for more := true; more && err == nil; more = next != "" {
			next, err = r.page(ctx, api, k, selector, next, each)
		}
		if !apierrors.IsResourceExpired(err) {
			return err
		}
	}
	return err
}

// page reads one page and returns where the next one starts.
func (r *remote) page(ctx context.Context, api API, k kind, selector, from string, each func(report.Accessor) error) (next string, err error) {
	request := at(r.groups[api].Get(), k, reportKey{}).
		Param("labelSelector", selector).Param("limit", strconv.Itoa(pageSize))
	if from != "" {
		request = request.Param("continue", from)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	next, err = decodeList(json.NewDecoder(io.LimitReader(body, pageSize*maxObject)), k, each)
	if err != nil {
		return "", fmt.Errorf("read the list of %s: %w", k.resource, err)
	}
	return next, nil
}

// decodeList reads a list item by item.
func decodeList(d *json.Decoder, k kind, each func(report.Accessor) error) (next string, err error) {
	if err := expect(d, '{'); err != nil {
		return "", err
	}
	for d.More() {
		field, err := d.Token()
		if err != nil {
			return "", err
		}
		switch field {
		case "items":
			err = decodeItems(d, k, each)
		case "metadata":
			var metadata struct {
				Continue string `json:"continue"`
			}
			err = d.Decode(&metadata)
			next = metadata.Continue
		default:
			var ignored json.RawMessage
			err = d.Decode(&ignored)
		}
		if err != nil {
			return "", err
		}
	}
	return next, expect(d, '}')
}

func decodeItems(d *json.Decoder, k kind, each func(report.Accessor) error) error {
	token, err := d.Token()
	if err != nil || token == nil {
		return err // A list without items may have null.
	}
	if token != json.Delim('[') {
		return fmt.Errorf("items begin with %v", token)
	}
	for d.More() {
		object := k.empty()
		if err := d.Decode(object); err != nil {
			return err
		}
		if err := each(object); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %v where %v should be", token, want)
	}
	return err
}
