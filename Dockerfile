# The app in a container, from a wheel: python -m pip wheel . --no-deps -w dist && docker build -t sentviz .
# docs/SERVING.md says how it is run, docs/docker-compose.yml with which limits; without Chromium it writes HTML, CSV and TEX only.
FROM python:3.12-slim-bookworm

ARG TORCH=2.13.0
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN pip install --no-cache-dir --index-url "${TORCH_INDEX}" "torch==${TORCH}"
RUN --mount=type=bind,source=dist,target=/dist \
    pip install --no-cache-dir /dist/sentviz-*.whl \
    && useradd --uid 1000 --home-dir /tmp --no-create-home sentviz \
    && install --directory --owner=sentviz /data

# the one place to write, beside /tmp: runs that `sentviz runs get` fetches, data sets, what is computed once and kept
ENV SENTVIZ_HOME=/data HOME=/tmp NUMBA_CACHE_DIR=/tmp/numba PYTHONDONTWRITEBYTECODE=1 SENTVIZ_NO_DOWNLOAD=1
USER 1000
WORKDIR /data
EXPOSE 8501

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(u.Request('http://127.0.0.1:8501/_stcore/health', headers={'Host': os.environ.get('STREAMLIT_SERVER_ALLOWED_HOSTS', 'localhost')}), timeout=4)"]

CMD ["sentviz", "app", "--no-browser", "--server.address=0.0.0.0"]
