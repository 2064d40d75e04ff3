// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/plane/authtrust"
	"github.com/docket-project/docket/internal/plane/statedir"
)

// endpoint is the API that the server is registered with.
type endpoint struct {
	kubeconfig string // absolute path of one file
	state      string // folder where the aggregator's certificate may be
	core       kubernetes.Interface
	services   apiregistration.Interface
}

// endpoint finds the kubeconfig and checks that its server answers before a command is
// started.
func (o *Options) endpoint() (*endpoint, error) {
	path, err := o.kubeconfigPath()
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, nil).ClientConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("kubeconfig %s: file not found; start `docket up` first, or give its location with --dir or --kubeconfig", path)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	config.QPS = -1 // A few questions a second, whose own errors would hide the answers.
	e := &endpoint{kubeconfig: path, state: o.Dir}
	if e.state == "" {
		e.state = filepath.Dir(path)
	}
	if e.core, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if e.services, err = apiregistration.NewForConfig(rest.CopyConfig(config)); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if _, err := e.core.Discovery().ServerVersion(); apierrors.IsUnauthorized(err) {
		return nil, fmt.Errorf("the endpoint of %s rejects its credentials: is it out of date, or for another server? Give another one with --dir or --kubeconfig", path)
	} else if err != nil {
		return nil, fmt.Errorf("the endpoint of %s does not answer: %w; start it (for example with `docket up`), or give another one with --dir or --kubeconfig", path, err)
	}
	return e, nil
}

func (o *Options) kubeconfigPath() (string, error) {
	path := o.Kubeconfig
	switch {
	case path != "":
	case o.Dir != "":
		path = filepath.Join(o.Dir, statedir.KubeconfigFile)
	case os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "":
		files := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
		if len(files) != 1 {
			return "", fmt.Errorf("$%s names %d files, and the server needs one; give it with --kubeconfig", clientcmd.RecommendedConfigPathEnvVar, len(files))
		}
		path = files[0]
	default:
		dir, err := statedir.DefaultDir("docket")
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, statedir.KubeconfigFile)
	}
	// The command may change to another folder.
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("--kubeconfig: %w", err)
	}
	return path, nil
}

// proxyCertificate returns the files of the certificate with which the aggregator asks
// its servers. They are in the state folder, which only its owner can read: that is --dir,
// or the folder of the kubeconfig. ok is false if there are none, as in front of
// somebody else's cluster.
func (e *endpoint) proxyCertificate() (certificate, key string, ok bool) {
	certificate, key = filepath.Join(e.state, statedir.ProxyCertificateFile), filepath.Join(e.state, statedir.ProxyKeyFile)
	for _, path := range []string{certificate, key} {
		if _, err := os.Stat(path); err != nil {
			return "", "", false
		}
	}
	return certificate, key, true
}

// proxyCA returns the authority of the aggregator's certificate, in PEM.
func (e *endpoint) proxyCA(ctx context.Context) ([]byte, error) {
	const key = "requestheader-client-ca-file"
	trust, err := e.core.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authtrust.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find the authority for {proxy-ca}: %w", explained(err))
	}
	if trust.Data[key] == "" {
		return nil, fmt.Errorf("find the authority for {proxy-ca}: ConfigMap %s/%s has no %s", trust.Namespace, trust.Name, key)
	}
	return []byte(trust.Data[key]), nil
}

// servers returns what the endpoint's aggregator says about all servers. An endpoint without such a list is not
// Docket's: everyone would lose a group version that is taken over there, not only the clients of a gateway.
func (e *endpoint) servers(ctx context.Context) ([]aggregator.Server, error) {
	code := 0
	body, err := e.core.Discovery().RESTClient().Get().AbsPath(aggregator.ServersPath).
		SetHeader("Accept", "application/json").Do(ctx).StatusCode(&code).Raw()
	var list []aggregator.Server
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), err == nil && json.Unmarshal(body, &list) != nil:
		return nil, fmt.Errorf("the endpoint of %s is not a docket gateway or docket up (%s answers %d); start one, and give its kubeconfig",
			e.kubeconfig, aggregator.ServersPath, code)
	case err != nil:
		return nil, fmt.Errorf("ask the endpoint for its servers: %w", explained(err))
	}
	return list, nil
}

// server returns what the aggregator says about the extension server of a group version.
func (e *endpoint) server(ctx context.Context, version schema.GroupVersion) (aggregator.Server, error) {
	list, err := e.servers(ctx)
	if i := slices.IndexFunc(list, func(s aggregator.Server) bool { return !s.Local && s.GroupVersion == version.String() }); i >= 0 {
		return list[i], err
	}
	return aggregator.Server{Reason: aggregator.NotChecked}, err
}

// explained adds a remedy to an error about permissions.
func explained(err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err) && errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0:
		return err // It is about a field, not about permissions.
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask an administrator of the endpoint for this right, or use a kubeconfig that has it", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; the kubeconfig's credentials are not accepted (any more)", err)
	}
	return err
}
