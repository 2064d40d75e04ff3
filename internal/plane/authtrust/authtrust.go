// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package authtrust

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// Name of the ConfigMap, in the namespace kube-system.
const Name = "extension-apiserver-authentication"

// Keys of the ConfigMap.
const (
	clientCAKey      = "client-ca-file"
	proxyCAKey       = "requestheader-client-ca-file"
	proxyNamesKey    = "requestheader-allowed-names"
	userHeadersKey   = "requestheader-username-headers"
	uidHeadersKey    = "requestheader-uid-headers"
	groupHeadersKey  = "requestheader-group-headers"
	extraPrefixesKey = "requestheader-extra-headers-prefix"
)

// Trust has the authorities that extension servers are to trust.
type Trust struct {
	// ProxyCA is the authority, in PEM, of the certificate with which the aggregator
	// asks.
	ProxyCA []byte
	// ProxyNames are the common names that such a certificate may have. None means any:
	// that is for authorities that sign nothing else.
	ProxyNames []string
	// ClientCA is the authority, in PEM, of users' own certificates; empty if users have
	// none.
	ClientCA []byte
}

// Publish writes the ConfigMap, or changes what is different in it. It is for the only
// writer: authorities that were there before are replaced.
func Publish(ctx context.Context, client kubernetes.Interface, trust Trust) error {
	data, err := trust.Data()
	if err != nil {
		return err
	}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	// A conflict and a ConfigMap that somebody else makes or deletes meanwhile are all
	// reasons to look again.
	again := func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
	}
	err = retry.OnError(retry.DefaultBackoff, again, func() error {
		have, err := configMaps.Get(ctx, Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}, Data: data}, metav1.CreateOptions{})
			return err
		}
		if err != nil || !update(have, data) {
			return err
		}
		_, err = configMaps.Update(ctx, have, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("publish ConfigMap %s/%s: %w", metav1.NamespaceSystem, Name, err)
	}
	return nil
}

// update changes the keys that this package knows and reports whether any was different.
func update(have *corev1.ConfigMap, data map[string]string) bool {
	wanted := maps.Clone(have.Data)
	if wanted == nil {
		wanted = map[string]string{}
	}
	if _, ok := data[clientCAKey]; !ok {
		delete(wanted, clientCAKey)
	}
	maps.Copy(wanted, data)
	if maps.Equal(wanted, have.Data) {
		return false
	}
	have.Data = wanted
	return true
}

// Data returns the contents of the ConfigMap.
func (t *Trust) Data() (map[string]string, error) {
	data := map[string]string{proxyCAKey: string(t.ProxyCA)}
	if len(t.ClientCA) > 0 {
		data[clientCAKey] = string(t.ClientCA)
	}
	for key, list := range map[string][]string{
		proxyNamesKey:    append([]string{}, t.ProxyNames...), // [] rather than null.
		userHeadersKey:   {"X-Remote-User"},
		uidHeadersKey:    {"X-Remote-Uid"},
		groupHeadersKey:  {"X-Remote-Group"},
		extraPrefixesKey: {"X-Remote-Extra-"},
	} {
		value, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		data[key] = string(value)
	}
	return data, nil
}
