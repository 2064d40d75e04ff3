// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/atomicfile"
	"github.com/docket-project/docket/internal/certificate"
)

// contextName is the name of context, cluster and user in the kubeconfig.
const contextName = "docket"

// WriteKubeconfig writes a file that needs nothing else: certificate and token are
// inside. The user's own ~/.kube/config is left alone.
func (h *Home) WriteKubeconfig(url string, ca *certificate.Pair, token string) error {
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			contextName: {Server: url, CertificateAuthorityData: ca.CertificatePEM},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{contextName: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{contextName: {Cluster: contextName, AuthInfo: contextName}},
		CurrentContext: contextName,
	})
	if err != nil {
		return fmt.Errorf("make the kubeconfig: %w", err)
	}
	if err := atomicfile.Write(h.Path(KubeconfigFile), data); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
