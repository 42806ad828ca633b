# One image for web, worker and beat; docker-compose.yml says which is which.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /course

COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY . .
# The key signs nothing here: collectstatic only needs the settings to load. Files are compressed once, now.
RUN DEBUG=false SECRET_KEY=build-only python manage.py collectstatic --no-input --skip-checks \
    && useradd --system course && install -d -o course .run
USER course

EXPOSE 8000
CMD ["uvicorn", "courseware.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--timeout-graceful-shutdown", "5", "--forwarded-allow-ips", "*"]
